// Neighbouring elements as they lie in memory, in 32-bit registers until they are multiplied. The compiler takes a
// vector of narrower elements apart where it is loaded, and so waits for it there; words it leaves alone. Needs the
// rendered constant ARCH.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/bytes.cuh"
#include "mmtune/numeric.cuh"

template <int BYTES>
struct WordFor {
  using type = u32;
};
template <>
struct WordFor<2> {
  using type = unsigned short;
};
template <>
struct WordFor<1> {
  using type = unsigned char;
};

// N elements of 1, 2, 4, 8 or 16 bytes in total. A chunk is what a word holds, or of wider elements one.
template <class T, int N>
struct Packed {
  using Word = typename WordFor<sizeof(T) * N>::type;
  static constexpr int WORDS = sizeof(T) * N / sizeof(Word);
  static constexpr int CHUNK = sizeof(Word) > sizeof(T) ? sizeof(Word) / sizeof(T) : 1;  // elements
  static constexpr int CHUNKS = N / CHUNK;

  Vector<Word, WORDS> words;

  __device__ __forceinline__ T element(int i) const {
    if constexpr (sizeof(T) == 8) {
      return __builtin_bit_cast(T, Vector<Word, 2>{words.at[2 * i], words.at[2 * i + 1]});
    } else if constexpr (sizeof(T) == sizeof(Word)) {
      return __builtin_bit_cast(T, words.at[i]);
    } else {
      using Bits = typename WordFor<sizeof(T)>::type;
      return __builtin_bit_cast(T, static_cast<Bits>(words.at[i / CHUNK] >> (i % CHUNK * 8 * sizeof(T))));
    }
  }
};

// The N elements at `source`, which is aligned to all of them; zeros if `valid` is false, and then nothing is read.
template <int N, class T>
__device__ __forceinline__ Packed<T, N> load_packed(bool valid, const T* source) {
  using Result = Packed<T, N>;
  return {load_if<Result::WORDS>(valid, reinterpret_cast<const typename Result::Word*>(source))};
}

// PIECES times PIECE elements, `apart` elements from one piece to the next. Of the pieces, `valid(piece)` says which
// exist; the others are zeros.
template <int PIECE, int PIECES, class T, class Valid>
__device__ __forceinline__ Packed<T, PIECE * PIECES> gather_packed(const T* source, i64 apart, const Valid& valid) {
  using Part = Packed<T, PIECE>;
  using Result = Packed<T, PIECE * PIECES>;
  using Word = typename Result::Word;
  constexpr int PER_WORD = sizeof(Word) / sizeof(typename Part::Word);  // words of a part in one of the result
  Result result = {};
#pragma unroll
  for (int p = 0; p < PIECES; ++p) {
    const Part part = load_packed<PIECE>(valid(p), source + p * apart);
#pragma unroll
    for (int w = 0; w < Part::WORDS; ++w) {
      const int word = p * Part::WORDS + w;
      const u32 bits = static_cast<u32>(part.words.at[w]) << (word % PER_WORD * 8 * sizeof(typename Part::Word));
      Word& target = result.words.at[word / PER_WORD];
      target = static_cast<Word>(target | bits);
    }
  }
  return result;
}

// Whether chunks are widened all at once.
template <class T, int CHUNK>
constexpr bool WIDENS_PACKED = false;
template <>
constexpr bool WIDENS_PACKED<e4m3_t, 4> = ARCH >= 89;

// The values of a chunk; exact.
template <class T, int N, int CHUNK, class Value>
__device__ __forceinline__ void widen(Value (&values)[CHUNK], const Packed<T, N>& packed, int chunk) {
  static_assert(CHUNK == Packed<T, N>::CHUNK, "room for a chunk");
  if constexpr (WIDENS_PACKED<T, CHUNK>) {
    widen_e4m3(values, packed.words.at[chunk]);
  } else {
#pragma unroll
    for (int i = 0; i < CHUNK; ++i) values[i] = value_of(packed.element(chunk * CHUNK + i));
  }
}

// Whether chunks are multiplied as they are by add_products(), and not widened first.
template <class X, class Y, int CHUNK>
constexpr bool MULTIPLIES_PACKED = false;
template <>
constexpr bool MULTIPLIES_PACKED<signed char, signed char, 4> = true;

// sum += the products of two chunks, element by element.
template <class X, int M, class Y, int N, class Value>
__device__ __forceinline__ void add_products(Value& sum, const Packed<X, M>& x, const Packed<Y, N>& y, int chunk) {
  constexpr int CHUNK = Packed<X, M>::CHUNK;
  if constexpr (MULTIPLIES_PACKED<X, Y, CHUNK>) {
    add_products_of_bytes(sum, x.words.at[chunk], y.words.at[chunk]);
  } else {
#pragma unroll
    for (int i = chunk * CHUNK; i < (chunk + 1) * CHUNK; ++i) sum += value_of(x.element(i)) * value_of(y.element(i));
  }
}
