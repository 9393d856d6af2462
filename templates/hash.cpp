#include "templates/hash.h"

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
  Word state = state_;  // which the bytes may not alias
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

void RepeatedBytes::add_to(ContentHash& hash) {
  const Word scaled = hash.state_ * power_;
  std::optional<Word>& constant = constants_[static_cast<std::size_t>(hash.state_ & 0xff)];
  if (!constant) constant = hash.add_bytes(bytes_).state_ - scaled;
  hash.state_ = scaled + *constant;
}

}  // namespace mmtune
