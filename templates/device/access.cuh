// Accesses to global memory that are predicated, not branched around: hundreds of small branches at the end of a kernel
// would be a good part of what the compiler spends on it.
#pragma once

#include "mmtune/copy.cuh"

// What PTX calls a vector of BYTES: 32-bit words, or half of one.
template <int BYTES>
struct WordsOf {
  using type = Vector<unsigned, BYTES / 4>;
};
template <>
struct WordsOf<2> {
  using type = Vector<unsigned short, 1>;
};
template <>
struct WordsOf<1> {
  using type = Vector<unsigned char, 1>;
};

// The N neighbours at `source`, which is aligned to all of them, 1, 2, 4, 8 or 16 bytes; zeros if `valid` is false, and
// then nothing is read. PTX ISA: ld.global, Predicated Execution.
template <int N, class T>
__device__ __forceinline__ Vector<T, N> load_if(bool valid, const T* source) {
  typename WordsOf<sizeof(T)* N>::type words = {};
  const int predicate = valid;
  if constexpr (sizeof(words) == 16) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%4]; }"
                 : "+r"(words.at[0]), "+r"(words.at[1]), "+r"(words.at[2]), "+r"(words.at[3])
                 : "l"(source), "r"(predicate)
                 : "memory");
  } else if constexpr (sizeof(words) == 8) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.v2.b32 {%0, %1}, [%2]; }"
                 : "+r"(words.at[0]), "+r"(words.at[1])
                 : "l"(source), "r"(predicate)
                 : "memory");
  } else if constexpr (sizeof(words) == 4) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.b32 %0, [%1]; }"
                 : "+r"(words.at[0])
                 : "l"(source), "r"(predicate)
                 : "memory");
  } else if constexpr (sizeof(words) == 2) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.b16 %0, [%1]; }"
                 : "+h"(words.at[0])
                 : "l"(source), "r"(predicate)
                 : "memory");
  } else {
    unsigned byte = 0;  // there are no registers of one
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.b8 %0, [%1]; }"
                 : "+r"(byte)
                 : "l"(source), "r"(predicate)
                 : "memory");
    words.at[0] = static_cast<unsigned char>(byte);
  }
  return __builtin_bit_cast(Vector<T, N>, words);
}

// Writes N neighbours to `target`, aligned likewise, if `valid`. PTX ISA: st.global, Predicated Execution.
template <int N, class T>
__device__ __forceinline__ void store_if(bool valid, T* target, const Vector<T, N>& values) {
  const auto words = __builtin_bit_cast(typename WordsOf<sizeof(T) * N>::type, values);
  const int predicate = valid;
  if constexpr (sizeof(words) == 16) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p st.global.v4.b32 [%0], {%2, %3, %4, %5}; }" ::"l"(target),
                 "r"(predicate), "r"(words.at[0]), "r"(words.at[1]), "r"(words.at[2]), "r"(words.at[3])
                 : "memory");
  } else if constexpr (sizeof(words) == 8) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p st.global.v2.b32 [%0], {%2, %3}; }" ::"l"(target),
                 "r"(predicate), "r"(words.at[0]), "r"(words.at[1])
                 : "memory");
  } else if constexpr (sizeof(words) == 4) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p st.global.b32 [%0], %2; }" ::"l"(target), "r"(predicate),
                 "r"(words.at[0])
                 : "memory");
  } else if constexpr (sizeof(words) == 2) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p st.global.b16 [%0], %2; }" ::"l"(target), "r"(predicate),
                 "h"(words.at[0])
                 : "memory");
  } else {
    const unsigned byte = words.at[0];
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p st.global.b8 [%0], %2; }" ::"l"(target), "r"(predicate),
                 "r"(byte)
                 : "memory");
  }
}

// The same for a tile's sums of tensor cores.
template <int N, class T>
__device__ __forceinline__ void store_sums_if(bool valid, T* target, const Vector<T, N>& sums) {
  store_if(valid, target, sums);
}
// Those of fp32 do not become words: ptxas would take the moves for uses between its multiplications and serialise these,
// where they take rows from registers. Results of fp32, stored one by one so, leave 4 % later.
template <int N>
__device__ __forceinline__ void store_sums_if(bool valid, float* target, const Vector<float, N>& sums) {
  static_assert(N == 1 || N == 2, "two neighbours are the most that are stored at once");
  const int predicate = valid;
  if constexpr (N == 2) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p st.global.v2.b32 [%0], {%2, %3}; }" ::"l"(target),
                 "r"(predicate), "f"(sums.at[0]), "f"(sums.at[1])
                 : "memory");
  } else {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p st.global.b32 [%0], %2; }" ::"l"(target), "r"(predicate),
                 "f"(sums.at[0])
                 : "memory");
  }
}
