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

// The sum of products of two words' elements.
template <class Input, class Sum>
Sum product_of_words(u32 a, u32 b) {
  Input left[4 / sizeof(Input)];
  Input right[4 / sizeof(Input)];
  memcpy(left, &a, 4);
  memcpy(right, &b, 4);
  Sum sum = 0;
  for (unsigned e = 0; e < 4 / sizeof(Input); ++e) {
    sum += static_cast<Sum>(read_by_tensor_core(left[e])) * static_cast<Sum>(read_by_tensor_core(right[e]));
  }
  return sum;
}

}  // namespace mmtune::shim

template <class Input, class Sum>
inline void multiply_pieces(Sum (&sum)[4], const Piece<Input>& a, const Piece<Input>& b, int columns) {
  using namespace mmtune::shim;
  struct Words {
    u32 a[4], b[2];
  };
  const Words own = {{a.at[0], a.at[1], a.at[2], a.at[3]}, {b.at[2 * columns], b.at[2 * columns + 1]}};
  Words all[kLanes];
  gather(&own, all, sizeof(own));
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) {
      Wide<Sum> total = sum[2 * r + c];  // one fused sum, as on a GPU: rounded once
      for (int h = 0; h < 2; ++h) {
        for (int t = 0; t < 4; ++t) {
          const u32 left = all[lane() / 4 * 4 + t].a[2 * h + r];
          const u32 right = all[(2 * (lane() % 4) + c) * 4 + t].b[h];
          total += product_of_words<Input, Wide<Sum>>(left, right);
        }
      }
      sum[2 * r + c] = static_cast<Sum>(total);
    }
  }
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
