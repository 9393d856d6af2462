#include "templates/base/rules.h"

#include <fmt/format.h>

#include <chrono>

#include "templates/base/config.h"
#include "templates/base/letters.h"
#include "templates/base/parsed_number.h"

namespace mmtune::rule {
namespace {

constexpr std::size_t kLabelLimit = 256;
constexpr std::size_t kHashLimit = 64;
constexpr std::size_t kConfigLimit = 4096;
constexpr std::size_t kMachineCodeLimit = std::size_t{128} << 20;

bool consists_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.size() <= kHashLimit && text.find_first_not_of(allowed) == std::string_view::npos;
}

}  // namespace

std::string_view label(std::string_view text) {
  const bool printable = std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return text.size() <= kLabelLimit && printable ? "" : "too long or not printable";
}

std::string_view name(std::string_view text) { return text.empty() ? "empty" : label(text); }

std::string_view word(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return consists_of(text, kAllowed) ? "" : "empty or not a word";
}

std::string_view family(std::string_view text) {
  return consists_of(text, "abcdefghijklmnopqrstuvwxyz0123456789_") ? "" : "not the name of a family";
}

std::string_view config(std::string_view text) {
  return text.size() <= kConfigLimit && Config::is_text(text) ? "" : "not NAME=VALUE … in at most 4096 bytes";
}

std::optional<std::string> utc_text(std::int64_t seconds) {
  using std::chrono::days;
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  if (seconds < 0 || time >= std::chrono::sys_days{std::chrono::year{10000} / 1 / 1}) return std::nullopt;
  const std::chrono::sys_days day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

std::optional<std::int64_t> utc_seconds(std::string_view text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  const bool matches = std::equal(text.begin(), text.end(), kPattern.begin(), kPattern.end(),
                                  [](char c, char expected) { return expected == 'd' ? is_digit(c) : c == expected; });
  if (!matches) return std::nullopt;
  const auto number = [text](std::size_t begin, std::size_t size) {
    return *parsed_number<int>(text.substr(begin, size));
  };
  const std::chrono::year_month_day date = std::chrono::year{number(0, 4)} / number(5, 2) / number(8, 2);
  const std::chrono::hours hours(number(11, 2));
  const std::chrono::minutes minutes(number(14, 2));
  const std::chrono::seconds seconds(number(17, 2));
  constexpr std::chrono::year kFirst{1970};
  const bool is_time = date.ok() && date.year() >= kFirst && hours.count() < 24 && minutes.count() < 60;
  if (!is_time || seconds.count() >= 60) return std::nullopt;
  return std::chrono::sys_seconds{std::chrono::sys_days{date} + hours + minutes + seconds}.time_since_epoch().count();
}

std::string_view UtcTime::operator()(std::string_view text) const {
  return utc_seconds(text) ? "" : "not a UTC time as 2031-04-05T06:07:08Z";
}

std::string_view note(std::string_view text) { return text.size() <= kNoteLimit ? "" : "too long"; }

std::string_view MachineCode::operator()(std::string_view bytes) const {
  return bytes.size() <= kMachineCodeLimit ? "" : "too large";
}

}  // namespace mmtune::rule
