// What judges a candidate on the GPU: reproducible data, exact sums with their magnitudes, and comparison against a
// bound. Rendered with the types and transpositions of a problem; see tuner/measure/verify.h for the bound.
#include "mmtune/reference.cuh"

using Exact = ExactType<Accumulator>::type;

// A bijective mix of 64 bits (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
__device__ __forceinline__ u64 mixed(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

struct Sum {
  template <class T>
  static __device__ T of(T x, T y) {
    return x + y;
  }
};
struct Largest {
  template <class T>
  static __device__ T of(T x, T y) {
    return x > y ? x : y;
  }
};

// One value of a block of 256 threads, for thread 0: atomic accesses to one address come one after the other, and one
// for each thread would take longer than all the rest.
template <class Fold, class T>
__device__ __forceinline__ T folded(T mine) {
  __shared__ T values[256];
  const unsigned x = threadIdx.x;
  __syncthreads();  // what was folded before has been read
  values[x] = mine;
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (x < half) values[x] = Fold::of(values[x], values[x + half]);
  }
  return values[0];
}

// Kind 0: whole numbers from -3 to 3, whose products and sums are exact in every accumulator. Kind 1: uniform in
// [-1, 1]; for integers all values of their format. Kind 2: ones. Kind 3: kind 1 without signs.
template <class Element>
__device__ __forceinline__ void fill(Element* x, i64 count, u64 seed, int kind) {
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    const u64 bits = mixed(seed + static_cast<u64>(i));
    if (kind == 0) {
      const int whole = static_cast<int>((bits >> 32) * 7 >> 32) - 3;
      assign(x[i], static_cast<Accumulator>(whole));
    } else if (kind == 2) {
      assign(x[i], static_cast<Accumulator>(1));
    } else if constexpr (!ExactType<Accumulator>::ROUNDS) {
      assign(x[i], static_cast<Accumulator>(bits));
    } else {
      const double value = static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
      assign(x[i], static_cast<Accumulator>(kind == 3 ? fabs(value) : value));
    }
  }
}

extern "C" __global__ void __launch_bounds__(256) fill_a(InputA* x, i64 count, u64 seed, int kind) {
  fill(x, count, seed, kind);
}
extern "C" __global__ void __launch_bounds__(256) fill_b(InputB* x, i64 count, u64 seed, int kind) {
  fill(x, count, seed, kind);
}
extern "C" __global__ void __launch_bounds__(256) fill_c(Output* x, i64 count, u64 seed, int kind) {
  fill(x, count, seed, kind);
}

// exact[i,j] = sum of a*b, magnitude[i,j] = sum of |a*b| (not for integers), both m x n without padding. Blocks of
// 32 x 8 threads, one tile of 32 x 32 each, in a one-dimensional grid.
extern "C" __global__ void __launch_bounds__(256)
    reference_sums(i64 m, i64 n, i64 k, const InputA* A, i64 lda, const InputB* B, i64 ldb, Exact* exact,
                   float* magnitude) {
  const TileIndex tile = tile_of_block(blockIdx.x, ceil_div(m, 32), ceil_div(n, 32), 8);
  ExactSum<Accumulator> sums[REFERENCE_SUMS];
  exact_dot<TRANSPOSE_A, TRANSPOSE_B, true>(tile.m * 32, tile.n * 32, m, n, k, A, lda, B, ldb, sums);
  const i64 column = tile.n * 32 + threadIdx.x;
  for (int s = 0; s < REFERENCE_SUMS; ++s) {
    const i64 row = tile.m * 32 + threadIdx.y + s * REFERENCE_ROWS;
    if (row < m && column < n) {
      exact[row * n + column] = sums[s].value;
      magnitude[row * n + column] = static_cast<float>(sums[s].magnitude);
    }
  }
}

struct Finding {
  unsigned share_bits;       // the largest error as a share of its bound, as the bits of a non-negative float
  unsigned padding_written;  // elements between the columns and the leading dimension that lost their poison
  unsigned long long wrong;  // elements beyond their bound
  unsigned long long first;  // the lowest row * n + column of those
};

// Judges C against alpha * exact + beta * C0. The bound of an element is
//   |alpha| * sum_bound * magnitude + result_bound * |expected| + scale_bound * (|alpha * exact| + |beta * C0|)
//   + absolute_bound;
// with all of them zero the result must be the correctly rounded expectation.
extern "C" __global__ void __launch_bounds__(256)
    compare(i64 m, i64 n, double alpha, double beta, const Exact* exact, const float* magnitude, const Output* C0,
            const Output* C, i64 ldc, double sum_bound, double result_bound, double scale_bound, double absolute_bound,
            Finding* finding) {
  const i64 total = m * ldc;
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  float worst = 0;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < total; i += stride) {
    const i64 row = i / ldc;
    const i64 column = i - row * ldc;
    if (column >= n) {
      const unsigned char* bytes = reinterpret_cast<const unsigned char*>(C + i);
      bool poisoned = true;
      for (unsigned byte = 0; byte < sizeof(Output); ++byte) poisoned = poisoned && bytes[byte] == 0xff;
      if (!poisoned) atomicAdd(&finding->padding_written, 1u);
      continue;
    }
    const i64 at = row * n + column;
    float share;
    if constexpr (!ExactType<Accumulator>::ROUNDS) {
      u32 expected = static_cast<u32>(static_cast<i64>(alpha)) * exact[at];
      if (beta != 0) expected += static_cast<u32>(static_cast<i64>(beta)) * value_of(C0[i]);
      share = expected == value_of(C[i]) ? 0.0f : __int_as_float(0x7f800000);
    } else {
      const double product = alpha * exact[at];
      const double addend = beta != 0 ? beta * static_cast<double>(value_of(C0[i])) : 0.0;
      const double expected = product + addend;
      const double bound = fabs(alpha) * sum_bound * magnitude[at] + result_bound * fabs(expected) +
                           scale_bound * (fabs(product) + fabs(addend)) + absolute_bound;
      double error;
      if (bound == 0) {
        Output rounded;
        assign(rounded, static_cast<Accumulator>(expected));
        error = static_cast<double>(value_of(C[i])) - static_cast<double>(value_of(rounded));
        share = error == 0 ? 0.0f : __int_as_float(0x7f800000);
      } else {
        error = fabs(static_cast<double>(value_of(C[i])) - expected);
        share = error >= 0 ? static_cast<float>(error / bound) : __int_as_float(0x7f800000);  // a NaN never passes
      }
    }
    worst = share > worst ? share : worst;
    if (share > 1) {
      atomicAdd(&finding->wrong, 1ull);
      atomicMin(&finding->first, static_cast<unsigned long long>(at));
    }
  }
  worst = folded<Largest>(worst);
  if (threadIdx.x == 0) atomicMax(&finding->share_bits, __float_as_uint(worst));
}

// A difference or value as a double; for integers the residue between -2^31 and 2^31.
__device__ __forceinline__ double real_value(double x) { return x; }
__device__ __forceinline__ double real_value(u32 x) { return static_cast<double>(static_cast<int>(x)); }

// sums[2 b] = the sum of (C - exact)^2, sums[2 b + 1] = the sum of exact^2 over the elements of block b.
extern "C" __global__ void __launch_bounds__(256)
    squares(i64 m, i64 n, const Exact* exact, const Output* C, i64 ldc, double* sums) {
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  double error = 0, whole = 0;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < m * n; i += stride) {
    const i64 row = i / n;
    const double difference = real_value(static_cast<Exact>(value_of(C[row * ldc + i - row * n])) - exact[i]);
    const double value = real_value(exact[i]);
    error += difference * difference;
    whole += value * value;
  }
  error = folded<Sum>(error);
  whole = folded<Sum>(whole);
  if (threadIdx.x == 0) {
    sums[2 * blockIdx.x] = error;
    sums[2 * blockIdx.x + 1] = whole;
  }
}

// Adds to the sum one value for each word of 8 bytes, made of its bits and its place; the order does not matter. Zeros
// fill up the last word.
extern "C" __global__ void __launch_bounds__(256) fingerprint(const u64* x, i64 bytes, unsigned long long* sum) {
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  const i64 words = bytes / 8;
  const int rest = static_cast<int>(bytes % 8);
  u64 mine = 0;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < words + (rest > 0); i += stride) {
    u64 bits = 0;
    if (i < words) {
      bits = x[i];
    } else {
      const unsigned char* last = reinterpret_cast<const unsigned char*>(x + words);
      for (int byte = 0; byte < rest; ++byte) bits |= static_cast<u64>(last[byte]) << (8 * byte);
    }
    mine += mixed(bits ^ mixed(static_cast<u64>(i)));
  }
  mine = folded<Sum>(mine);
  if (threadIdx.x == 0) atomicAdd(sum, mine);
}

// Counts the bytes of a guard zone that are not 0xff any more.
extern "C" __global__ void __launch_bounds__(256) check_guard(const unsigned char* zone, i64 count, unsigned* damaged) {
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (zone[i] != 0xff) atomicAdd(damaged, 1u);
  }
}

// Fills what lies between the columns and the leading dimension of C[m, ld] with 0xff.
extern "C" __global__ void __launch_bounds__(256) poison_padding(Output* C, i64 m, i64 n, i64 ld) {
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  const i64 bytes = (ld - n) * static_cast<i64>(sizeof(Output));
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < m * bytes; i += stride) {
    reinterpret_cast<unsigned char*>(C + i / bytes * ld + n)[i % bytes] = 0xff;
  }
}
