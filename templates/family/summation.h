// How a kernel adds the products of one element of C, as far as the bits of their sum depend on it.
//
// Tensor cores add the products of one instruction's whole step along k and the sum so far as one fused sum (on Hopper,
// all terms aligned to the largest, 25 fractional bits kept, rounded towards zero: Khattak and Mikaitis, arXiv
// 2512.07004; MMA-Sim, arXiv 2511.10909). CUDA cores add one product at a time. So the bits depend on the unit, its
// step, the order of the steps, where k is cut and when sums are promoted; not on tiles, stages, clusters, or the width
// of an instruction. Kernels of equal summations give equal bits: docs/same_bits.md.
#pragma once

#include <string>
#include <string_view>

#include "templates/gpu/device_spec.h"
#include "templates/problem/problem.h"

namespace mmtune {

struct Summation {
  enum class Adder {
    other,      ///< an order that the family does not state; equal to no other
    exact,      ///< integers: every order gives the same bits
    fma,        ///< fused multiply-adds of CUDA cores, in the order of k
    tensor,     ///< tensor cores: instructions of warps and of warpgroups, which add alike
    warp,       ///< tensor cores by instructions of a warp
    warpgroup,  ///< tensor cores by instructions of a warpgroup
  };

  Adder adder = Adder::other;
  int step = 1;       ///< the products that are added at once
  int promotion = 0;  ///< the steps along k after which sums are added to sums in the accumulator's format; 0: never
  bool cut = false;   ///< whether parts of k are added up by themselves

  friend bool operator==(const Summation& x, const Summation& y) {
    return x.adder == y.adder && x.adder != Adder::other && x.step == y.step && x.promotion == y.promotion && !x.cut &&
           !y.cut;
  }
};

/// The summation of tensor cores that take all of k in order. `by_warpgroup`: by instructions of a warpgroup, else of a
/// warp. The two add 16-bit products alike; tf32 is rounded differently on its way to them, and fp8 keeps 13 bits of a
/// sum in the one and 25 in the other.
Summation tensor_summation(Precision precision, const DeviceSpec& device, bool by_warpgroup);

/// "tensor cores, 16 at once, uncut".
std::string to_string(const Summation& summation);

/// The summation of products whose bits must not depend on m, n, the position, pitches or the batch: that of the unit
/// that the precision is fastest on, uncut. A function of precision and GPU alone.
Summation invariant_summation(Precision precision, const DeviceSpec& device);

}  // namespace mmtune
