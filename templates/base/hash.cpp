#include "templates/base/hash.h"

#include <fmt/format.h>

#include <utility>

namespace mmtune {
namespace {

__extension__ using Word = unsigned __int128;

constexpr Word kPrime = (Word{1} << 88) + 0x13b;

}  // namespace

std::string count_bytes(std::uint64_t count) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(count >> shift);
  return bytes;
}

ContentHash& ContentHash::add_bytes(std::string_view bytes) {
  Word state = state_;  // a copy that the bytes may not alias
  for (const char byte : bytes) state = (state ^ static_cast<unsigned char>(byte)) * kPrime;
  state_ = state;
  return *this;
}

std::string ContentHash::hex() const {
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(state_ >> 64), static_cast<std::uint64_t>(state_));
}

RepeatedBytes::RepeatedBytes(std::string bytes) : bytes_(std::move(bytes)) {
  Word square = kPrime;
  for (std::size_t n = bytes_.size(); n > 0; n /= 2, square *= square) {
    if (n % 2 == 1) power_ *= square;
  }
}

// The states advance side by side, since each step of one waits for its step before.
void RepeatedBytes::find_constants(std::size_t first) {
  std::array<Word, kAtOnce> states;
  for (std::size_t i = 0; i < kAtOnce; ++i) states[i] = first + i;
  for (const char byte : bytes_) {
    for (Word& state : states) state = (state ^ static_cast<unsigned char>(byte)) * kPrime;
  }
  for (std::size_t i = 0; i < kAtOnce; ++i) constants_[first + i] = states[i] - (first + i) * power_;
}

void RepeatedBytes::add_to(ContentHash& hash) {
  const auto lowest = static_cast<std::size_t>(hash.state_ & 0xff);
  if (!constants_[lowest]) find_constants(lowest / kAtOnce * kAtOnce);
  hash.state_ = hash.state_ * power_ + *constants_[lowest];
}

}  // namespace mmtune
