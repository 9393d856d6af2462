// Which values mmtune writes. The same rules guard both directions: put() refuses what breaks them, and a stored row
// that breaks them counts as absent, whoever wrote it.
#pragma once

#include <string>
#include <string_view>

#include "db/trial.h"

namespace mmtune {

/// What is wrong with the value, as "config: longer than 4096 bytes"; empty if nothing is.
std::string fault_of(const DeviceKey& device);
std::string fault_of(const Problem& problem);
std::string fault_of(const TrialKey& key);
std::string fault_of(const Environment& environment);
std::string fault_of(const Trial& trial);
std::string fault_of(const Binary& binary);

/// Of a candidate that came to `outcome`: only some have a time.
std::string fault_of(const Timing& timing, Outcome outcome);

/// The parts of a decision that are not part of its trial.
std::string fault_of_decision(const std::string& search, int candidates);

/// Whether the text is a time of day as the database stores it: "2031-04-05T06:07:08Z".
bool is_utc_time(const std::string& text);

/// Whether the text is one line of at most 256 bytes that can be printed as it is.
bool is_label(std::string_view text);

/// Whether the text can be the hash of a source or a binary: 1 to 64 letters, digits, '_', '-' or '.'.
bool is_hash(const std::string& text);

/// Longest stored note in bytes; put() cuts longer ones.
inline constexpr std::size_t kNoteLimit = std::size_t{1} << 20;

}  // namespace mmtune
