// A 128-bit content hash (FNV-1a, by its specification, draft-eastlake-fnv) for keys of sources and binaries.
// It tells different contents apart; it is no defence against a deliberate collision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mmtune {

/// A count as hashes take it.
std::string count_bytes(std::uint64_t count);

class ContentHash {
 public:
  /// Adds bytes and their count, so that ("ab","c") and ("a","bc") differ.
  ContentHash& add(std::string_view bytes) { return add_bytes(count_bytes(bytes.size())).add_bytes(bytes); }

  /// For bytes in parts: first those of the count of all, then each part.
  ContentHash& add_bytes(std::string_view bytes);

  /// 32 hexadecimal digits.
  std::string hex() const;

 private:
  friend class RepeatedBytes;
  __extension__ using Word = unsigned __int128;
  Word state_ = (Word{0x6c62272e07bb0142ULL} << 64) | 0x62b821756295c58dULL;
};

/// Bytes that many hashes get. One byte makes (state ^ byte) * prime of a state, where the exclusive or depends on the
/// lowest eight bits alone, and these on no higher ones. So n bytes make state * prime^n + c, and c depends on the
/// lowest eight bits of the state before: the bytes are gone through for at most 256 states. Not thread safe.
class RepeatedBytes {
 public:
  explicit RepeatedBytes(std::string bytes);

  /// Does what hash.add_bytes() of the bytes does.
  void add_to(ContentHash& hash);

 private:
  using Word = ContentHash::Word;
  static constexpr std::size_t kAtOnce = 8;

  /// Finds the constants of so many values of the lowest eight bits, from a multiple of that number on.
  void find_constants(std::size_t first);

  std::string bytes_;
  Word power_ = 1;  ///< prime^n
  std::array<std::optional<Word>, 256> constants_;
};

}  // namespace mmtune
