// Stands in for templates/device/mma.cuh: the same pieces, multiplied by the lanes of a warp from what all of them
// have.
#pragma once

#include <string.h>

#include "mmtune/copy.cuh"
#include "mmtune/matrices.cuh"
#include "mmtune/numeric.cuh"
#include "tensor_core.h"

template <class Input>
struct Piece {
  u32 at[4];
};
template <>
struct Piece<double> {
  static constexpr int HALVES = PIECE_BYTES / 32;
  double at[2 * HALVES];
};

namespace mmtune::shim {

// What holds a sum of products exactly enough to be rounded once.
template <class Sum>
struct WideOf {
  using Type = Sum;
};
template <>
struct WideOf<float> {
  using Type = double;
};
template <class Sum>
using Wide = typename WideOf<Sum>::Type;

// What a lane has for an instruction: a piece of A and 8 columns of one of B, as tensor cores read them.
template <class Input>
struct LaneElements {
  using Value = decltype(read_by_tensor_core(Input()));
  static constexpr int EACH = 4 / sizeof(Input);  // the elements of a word

  Value a[4][EACH], b[2][EACH];
};

// The sum of row `r` and column `c` of a lane and its products: one fused sum, as on a GPU, rounded once. It is most of
// what a kernel of tensor cores takes, and reads nothing of the kernel's that would have to be checked.
template <class Input, class Sum>
__attribute__((no_sanitize("address", "undefined"))) Sum fused_sum(Sum sum, const LaneElements<Input>* all, int lane,
                                                                   int r, int c) {
  const LaneElements<Input>* const left = all + lane / 4 * 4;
  const LaneElements<Input>* const right = all + (lane % 4 * 2 + c) * 4;
  Wide<Sum> total = sum;
  for (int h = 0; h < 2; ++h) {
    for (int t = 0; t < 4; ++t) {
      for (int e = 0; e < LaneElements<Input>::EACH; ++e) {
        total += static_cast<Wide<Sum>>(left[t].a[2 * h + r][e]) * static_cast<Wide<Sum>>(right[t].b[h][e]);
      }
    }
  }
  return static_cast<Sum>(total);
}

}  // namespace mmtune::shim

template <class Input, class Sum>
inline void multiply_pieces(Sum (&sum)[4], const Piece<Input>& a, const Piece<Input>& b, int columns) {
  using namespace mmtune::shim;
  constexpr int EACH = LaneElements<Input>::EACH;
  Input elements[6][EACH];
  memcpy(elements, a.at, sizeof(a.at));
  memcpy(elements[4], &b.at[2 * columns], 2 * sizeof(u32));
  LaneElements<Input> own;
  for (int i = 0; i < 6; ++i) {
    for (int e = 0; e < EACH; ++e) (i < 4 ? own.a[i] : own.b[i - 4])[e] = read_by_tensor_core(elements[i][e]);
  }
  LaneElements<Input> all[kLanes];
  gather(&own, all, sizeof(own));
  for (int i = 0; i < 4; ++i) sum[i] = fused_sum(sum[i], all, lane(), i / 2, i % 2);
}
inline void multiply_pieces(double (&sum)[4], const Piece<double>& a, const Piece<double>& b, int columns) {
  using namespace mmtune::shim;
  constexpr int HALVES = Piece<double>::HALVES;
  struct Numbers {
    double a[2 * HALVES], b[HALVES];
  };
  Numbers own;
  memcpy(own.a, a.at, sizeof(own.a));
  memcpy(own.b, &b.at[HALVES * columns], sizeof(own.b));
  Numbers all[kLanes];
  gather(&own, all, sizeof(own));
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      for (int h = 0; h < HALVES; ++h) {
        for (int t = 0; t < 4; ++t) {
          sum[2 * r + c] += all[lane() / 4 * 4 + t].a[2 * h + r] * all[(2 * (lane() % 4) + c) * 4 + t].b[h];
        }
      }
    }
  }
}

template <class Input>
inline void round_piece(Piece<Input>&) {}
inline void round_piece(Piece<float>& piece) {
  for (u32& each : piece.at) {
    if ((each & 0x7f800000u) != 0x7f800000u) each += 0x1000u;
  }
}
