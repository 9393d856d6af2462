// The parameters of a family as its rules and plans see them: integers that notice being read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mmtune {

/// The parameters that a computation read, in the order of their first reading. Repeated with the same values for these
/// it takes the same course, whatever the others are: that is how an enumeration passes over whole branches (space.h)
/// without being told which rule depends on what.
class Reads {
 public:
  static constexpr std::size_t kMostParameters = 64;

  void note(std::size_t position) {
    const std::uint64_t bit = std::uint64_t{1} << position;
    if (closed_ || (seen_ & bit) != 0) return;
    seen_ |= bit;
    order_[count_++] = static_cast<std::uint8_t>(position);
  }

  /// What is read from now on no longer matters.
  void close() { closed_ = true; }

  bool contains(std::size_t position) const { return (seen_ >> position & 1) != 0; }

  /// Positions in the family's table.
  std::span<const std::uint8_t> order() const { return {order_.data(), count_}; }

 private:
  bool closed_ = false;
  std::uint64_t seen_ = 0;
  std::size_t count_ = 0;
  std::array<std::uint8_t, kMostParameters> order_{};
};

/// One member of a family's Params: `Param bm{64};`, an int with a default. Where the enumeration wants to know, a
/// reading is noted; the Reads must outlive it.
class Param {
 public:
  explicit Param(int value) : value_(value) {}
  Param(int value, std::size_t position, Reads& reads) : value_(value), position_(position), reads_(&reads) {}

  Param& operator=(int value) {
    value_ = value;
    return *this;
  }

  operator int() const {  // NOLINT(google-explicit-constructor): families compute with it as with an int
    if (reads_ != nullptr) reads_->note(position_);
    return value_;
  }

 private:
  int value_;
  std::size_t position_ = 0;
  Reads* reads_ = nullptr;
};

}  // namespace mmtune
