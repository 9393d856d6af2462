#include "templates/hash.h"

#include <fmt/format.h>

#include <utility>

namespace mmtune {

namespace {

__extension__ using Word = unsigned __int128;

constexpr Word kPrime = (Word{1} << 88) + 0x13b;

Word mixed(Word state, std::uint64_t byte) { return (state ^ (byte & 0xff)) * kPrime; }

}  // namespace

ContentHash& ContentHash::add_count(std::uint64_t count) {
  for (int shift = 0; shift < 64; shift += 8) state_ = mixed(state_, count >> shift);
  return *this;
}

ContentHash& ContentHash::add_bytes(std::string_view bytes) {
  Word state = state_;  // which the bytes may not alias
  for (const char byte : bytes) state = mixed(state, static_cast<unsigned char>(byte));
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
