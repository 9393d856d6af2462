#include "templates/hash.h"

#include <fmt/format.h>

#include <cstdint>

namespace mmtune {

ContentHash& ContentHash::add(std::string_view bytes) {
  constexpr Word kPrime = (Word{1} << 88) + 0x13b;
  const auto mix = [this](unsigned char byte) { state_ = (state_ ^ byte) * kPrime; };
  const std::uint64_t count = bytes.size();
  for (int shift = 0; shift < 64; shift += 8) mix(static_cast<unsigned char>(count >> shift));
  for (const char byte : bytes) mix(static_cast<unsigned char>(byte));
  return *this;
}

std::string ContentHash::hex() const {
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(state_ >> 64), static_cast<std::uint64_t>(state_));
}

}  // namespace mmtune
