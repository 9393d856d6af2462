// How a kernel adds the products of one element of C, as far as the bits of their sum depend on it.
//
// Tensor cores add the products of one instruction's whole step along k and the sum so far as one fused sum (on Hopper,
// all terms aligned to the largest, 25 fractional bits kept, rounded towards zero: Khattak and Mikaitis, arXiv
// 2512.07004; MMA-Sim, arXiv 2511.10909). CUDA cores add one product at a time. So the bits depend on the unit, its
// step, the order of the steps, where k is cut and when sums are promoted; not on tiles, stages, clusters, or the width
// of an instruction. Kernels of equal summations give equal bits: docs/same_bits.md.
//
// Each part of k is added up by itself, from zero; then the parts' sums are added to zero in the order of k, rounded to
// nearest in the accumulator's format. Whether blocks have one part each or a block has several is all the same.
#pragma once

#include <cstdint>
#include <string>

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
  std::int64_t part = 0;  ///< the steps along k of a part, of which the last may have fewer; 0: k is not cut

  friend bool operator==(const Summation& x, const Summation& y) {
    return x.adder == y.adder && x.adder != Adder::other && x.step == y.step && x.promotion == y.promotion &&
           x.part == y.part;
  }
};

/// The steps along k of each of so many parts, the last of which may have fewer: whole stages of `bk`, a power of two.
/// Where the product is invariant they are multiples of 128, too, so that they are the same for all stages.
std::int64_t steps_of_part(const Problem& problem, int parts, int bk);

/// The same as Summation has it: 0 where one part has all of k.
std::int64_t summed_part(const Problem& problem, int parts, int bk);

/// The summation of tensor cores that take all of k in order. `by_warpgroup`: by instructions of a warpgroup, else of a
/// warp. The two add 16-bit products alike; tf32 is rounded differently on its way to them, and fp8 keeps 13 bits of a
/// sum in the one and 25 in the other.
Summation tensor_summation(Precision precision, const DeviceSpec& device, bool by_warpgroup);

/// "tensor cores, 16 at once, uncut", "tensor cores, 16 at once, in parts of 7168".
std::string to_string(const Summation& summation);

/// The number of parts that k has in an invariant product that CUDA cores add up; 1 for integers. A function of k.
int core_parts(const Problem& problem);

/// The number of parts that k has in an invariant product. A function of precision, k and architecture alone.
int invariant_parts(const Problem& problem, int compute_capability);

/// The summation of products whose bits must not depend on m, n, the position, pitches or the batch: that of the unit
/// that the precision is fastest on, in invariant_parts().
Summation invariant_summation(const Problem& problem, const DeviceSpec& device);

}  // namespace mmtune
