// What the values of fields must be. A rule says what is wrong with a value and nothing of a right one. The same rules
// guard what is written and what is read back: a row or a message that breaks one counts as absent, whatever wrote it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mmtune::rule {

inline constexpr auto not_negative = [](auto value) -> std::string_view {
  return value >= 0 ? "" : "negative or no number";
};

/// The rule of what may be no number at all, as the error of a result that is NaN.
inline constexpr auto not_below_0 = [](double value) -> std::string_view { return value < 0 ? "negative" : ""; };

/// The rule of a time, a rate or another quantity that is measured.
inline constexpr auto amount = [](double value) -> std::string_view {
  return std::isfinite(value) && value >= 0 ? "" : "negative or no finite number";
};

/// The rule of a range; both limits are allowed.
struct Within {
  double least;
  double most;
  constexpr std::string_view operator()(auto value) const {
    const auto number = static_cast<double>(value);
    return number >= least && number <= most ? "" : "out of range";
  }
};

/// The rule of a thread's registers. The register file of an SM has 65,536 on all GPUs since compute capability 5.0,
/// for all of its threads (CUDA C++ Programming Guide, "Compute Capabilities").
inline constexpr Within registers{0, 65536};

/// One of the values of a container.
template <class List>
struct OneOf {
  const List& list;
  std::string_view operator()(auto value) const {
    return std::find(std::begin(list), std::end(list), value) != std::end(list) ? "" : "unknown";
  }
};
template <class List>
OneOf(const List&) -> OneOf<List>;

/// One line of at most 256 bytes that can be printed as it is.
std::string_view label(std::string_view text);

/// A label that is not empty.
std::string_view name(std::string_view text);

/// One word: 1 to 64 letters, digits, '_', '-' or '.'.
std::string_view word(std::string_view text);

/// The hash of a source or a program, which is a word. A type of its own, since databases store hashes otherwise than
/// texts, and so is the next.
struct Hash {
  std::string_view operator()(std::string_view text) const { return word(text).empty() ? "" : "empty or not a hash"; }
};
inline constexpr Hash hash;

/// A hash, or empty.
struct HashOrNothing {
  std::string_view operator()(std::string_view text) const { return text.empty() ? "" : hash(text); }
};
inline constexpr HashOrNothing hash_or_nothing;

/// The name of a kernel family: 1 to 64 small letters, digits or '_'.
std::string_view family(std::string_view text);

/// A configuration in the text form of templates/base/config.h, at most 4096 bytes; empty for a family without
/// parameters.
std::string_view config(std::string_view text);

/// "2031-04-05T06:07:08Z" of so many seconds since 1970; nothing before that, and after 9999.
std::optional<std::string> utc_text(std::int64_t seconds);

/// The seconds since 1970 of a text as utc_text() makes it; nothing for another one.
std::optional<std::int64_t> utc_seconds(std::string_view text);

/// A time of day. A type of its own, since databases store seconds.
struct UtcTime {
  std::string_view operator()(std::string_view text) const;
};
inline constexpr UtcTime utc_time;

/// Longest note in bytes.
inline constexpr std::size_t kNoteLimit = std::size_t{1} << 20;
std::string_view note(std::string_view text);

/// The image of a program, at most 128 MiB. A type of its own, since machine code is stored otherwise than texts.
struct MachineCode {
  std::string_view operator()(std::string_view bytes) const;
};
inline constexpr MachineCode machine_code;

}  // namespace mmtune::rule
