#include "templates/base/rules.h"

#include "templates/base/config.h"

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

std::string_view hash(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return consists_of(text, kAllowed) ? "" : "empty or not a hash";
}

std::string_view hash_or_nothing(std::string_view text) { return text.empty() ? "" : hash(text); }

std::string_view family(std::string_view text) {
  return consists_of(text, "abcdefghijklmnopqrstuvwxyz0123456789_") ? "" : "not the name of a family";
}

std::string_view config(std::string_view text) {
  return text.size() <= kConfigLimit && Config::is_text(text) ? "" : "not NAME=VALUE … in at most 4096 bytes";
}

std::string_view utc_time(std::string_view text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  const bool matches =
      std::equal(text.begin(), text.end(), kPattern.begin(), kPattern.end(),
                 [](char c, char expected) { return expected == 'd' ? c >= '0' && c <= '9' : c == expected; });
  return matches ? "" : "not a UTC time as 2031-04-05T06:07:08Z";
}

std::string_view note(std::string_view text) { return text.size() <= kNoteLimit ? "" : "too long"; }

std::string_view MachineCode::operator()(std::string_view bytes) const {
  return bytes.size() <= kMachineCodeLimit ? "" : "too large";
}

}  // namespace mmtune::rule
