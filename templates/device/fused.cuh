// What a program with an epilogue, or with alpha and beta in device memory, has besides: C = activation(alpha * op(A) *
// op(B) + beta * C + bias), computed in the accumulator's type and rounded once. Needs the rendered constants
// LOADS_SCALARS, BIAS and ACTIVATION, numbers of mmtune::Bias and mmtune::Activation, and BATCHED, and the types
// Output, Accumulator and Number, which is that of alpha and beta.
//
// Kernels hand alpha and beta on to the functions that store results and never look into them. So the type Scalar
// carries what an epilogue needs, and what stores results has an overload for it: here are those for numeric.cuh and
// epilogue.cuh, and a family that stores in a way of its own has them in its fused.cuh. The kernels stay as they are.
#pragma once

#include "mmtune/access.cuh"
#include "mmtune/activation.cuh"
#include "mmtune/numeric.cuh"

// alpha or beta, and the epilogue's operands, as KernelScalar of runtime/arguments.h has them.
struct Scalar {
  union {
    Number number;
    const Number* address;  // LOADS_SCALARS; null: zero
  };
  u64 first;    // address of C[0, 0], of the first product
  i64 ld;       // the leading dimension of C
  u64 inverse;  // floor((2^64 - 1) / ld)
  const Output* bias;
  i64 step;  // bytes from the C of a product to that of the next; for BATCHED

  Scalar() = default;
  // Zero, to compare with.
  __device__ explicit Scalar(int) : address(nullptr) {
    if constexpr (!LOADS_SCALARS) number = 0;
  }
  __device__ __forceinline__ Number value() const {
    if constexpr (LOADS_SCALARS) return address == nullptr ? Number(0) : *address;
    return number;
  }
  __device__ explicit operator Accumulator() const { return static_cast<Accumulator>(value()); }
  __device__ friend bool operator==(const Scalar& x, const Scalar& y) { return x.value() == y.value(); }
};

constexpr bool ADDS_TO_ROWS = BIAS == 1;
constexpr bool ADDS_TO_COLUMNS = BIAS == 2;

// Where in C the element at an address is: the quotient and the rest of its index by ld. `inverse` falls short of
// 2^64 / ld by at most 1, and so the high half of index * inverse of index / ld by less than 1: rounded down, it is the
// quotient or one less.
struct ResultPlace {
  i64 row, column;

  __device__ __forceinline__ ResultPlace(const Output* c, const Scalar& epilogue) {
    const u64 first = BATCHED ? epilogue.first + blockIdx.z * static_cast<u64>(epilogue.step) : epilogue.first;
    const u64 index = (reinterpret_cast<u64>(c) - first) / sizeof(Output);
    const u64 ld = static_cast<u64>(epilogue.ld);
    u64 quotient = __umul64hi(index, epilogue.inverse);
    u64 rest = index - quotient * ld;
    if (rest >= ld) {
      ++quotient;
      rest -= ld;
    }
    row = static_cast<i64>(quotient);
    column = static_cast<i64>(rest);
  }
};

// The result of C[row, column] from alpha * sum + beta * c; the bias is read only if `valid`.
__device__ __forceinline__ Accumulator finished(Accumulator result, const Scalar& epilogue, i64 row, i64 column,
                                                bool valid) {
  if constexpr (ADDS_TO_ROWS || ADDS_TO_COLUMNS) {
    result +=
        static_cast<Accumulator>(value_of(load_if<1>(valid, epilogue.bias + (ADDS_TO_ROWS ? row : column)).at[0]));
  }
  return Activation<ACTIVATION>::of(result);
}

// The overload for store_result of numeric.cuh.
__device__ inline void store_result(Output* c, Accumulator sum, Scalar alpha, Scalar beta) {
  Accumulator result = scaled(static_cast<Accumulator>(alpha), sum);
  const Number factor = beta.value();
  if (factor != Number(0)) {
    result = with_addend(result, static_cast<Accumulator>(factor), static_cast<Accumulator>(value_of(*c)));
  }
  const ResultPlace place(c, beta);
  assign(*c, finished(result, beta, place.row, place.column, true));
}

// The overload for store_results of epilogue.cuh: N neighbours of one row.
template <int N, int ALIGNED>
__device__ inline void store_results(Output* c, const Accumulator* sums, Scalar alpha, Scalar beta, int remaining) {
  constexpr int WIDTH = ALIGNED < N ? ALIGNED : N;
  const ResultPlace place(c, beta);
  const Accumulator scale = static_cast<Accumulator>(alpha);
  const Number factor = beta.value();
#pragma unroll
  for (int j = 0; j < N; j += WIDTH) {
    const bool valid = j < remaining;
    Vector<Output, WIDTH> group = load_if<WIDTH>(valid && factor != Number(0), c + j);
#pragma unroll
    for (int v = 0; v < WIDTH; ++v) {
      // What was not read is zero, so that beta = 0 needs no branch here.
      const Accumulator result = with_addend(scaled(scale, sums[j + v]), static_cast<Accumulator>(factor),
                                             static_cast<Accumulator>(value_of(group.at[v])));
      assign(group.at[v], finished(result, beta, place.row, place.column + j + v, valid));
    }
    store_if(valid, c + j, group);
  }
}
