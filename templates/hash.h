// A 128-bit content hash (FNV-1a, by its specification, draft-eastlake-fnv) for keys of sources and binaries.
// It tells different contents apart; it is no defence against a deliberate collision.
#pragma once

#include <string>
#include <string_view>

namespace mmtune {

class ContentHash {
 public:
  /// Adds bytes and their count, so that ("ab","c") and ("a","bc") differ.
  ContentHash& add(std::string_view bytes);

  /// 32 hexadecimal digits.
  std::string hex() const;

 private:
  __extension__ using Word = unsigned __int128;
  Word state_ = (Word{0x6c62272e07bb0142ULL} << 64) | 0x62b821756295c58dULL;
};

}  // namespace mmtune
