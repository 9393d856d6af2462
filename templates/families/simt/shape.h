// What follows from a configuration of the family `simt`: what its operands pass through on their way, and what that
// takes of registers and shared memory.
#pragma once

#include <algorithm>

#include "templates/families/simt/params.h"
#include "templates/gpu/device_spec.h"
#include "templates/model/numbers.h"
#include "templates/problem/dtype.h"
#include "templates/problem/problem.h"
#include "templates/problem/tiling.h"

namespace mmtune::simt_shape {

inline constexpr int kRowBytes = 16;  ///< the bytes that are moved at once; rows of a copy are multiples of them

/// The threads that have each result of a tile once.
inline int tile_threads(const SimtParams& p) { return (p.bm / p.tm) * (p.bn / p.tn); }
inline int threads(const SimtParams& p) { return tile_threads(p) * p.warps_k; }
inline bool packs_a(const Problem& problem, const SimtParams& p) {
  return p.pack == 1 && (!transposes_a(problem.layout) || problem.align.a < 16);
}
inline bool packs_b(const Problem& problem, const SimtParams& p) {
  return p.pack == 1 && (transposes_b(problem.layout) || problem.align.b < 16);
}
/// Whether the main loop finds the operand contiguous along k.
inline bool a_along_k(const Problem& problem, const SimtParams& p) {
  return !transposes_a(problem.layout) && !packs_a(problem, p);
}
inline bool b_along_k(const Problem& problem, const SimtParams& p) {
  return transposes_b(problem.layout) && !packs_b(problem, p);
}

/// Neighbouring elements of a fragment that one instruction reads from shared memory.
inline int fragment_vector(const Problem& problem, const SimtParams& p) {
  return std::min<int>({kRowBytes / traits(problem.precision).accumulator.bytes, p.tm, p.tn});
}

/// Elements one instruction moves: as many as the operand's alignment allows, but no more than the shortest BK, along
/// which they may lie.
inline int vector_width(int align_bytes, const FormatTraits& format) {
  return std::clamp(align_bytes / format.bytes, 1, 8);
}

inline int shared_bytes(const Problem& problem, const SimtParams& p) {
  const int bytes = traits(problem.precision).accumulator.bytes;
  const auto rounded = [](int size) { return (size + 127) / 128 * 128; };
  const int pad = 16 / bytes;
  const int stages = rounded(p.stages * p.bk * (p.bm + (a_along_k(problem, p) ? pad : 0)) * bytes) +
                     rounded(p.stages * p.bk * (p.bn + (b_along_k(problem, p) ? pad : 0)) * bytes);
  const bool shares_sums = p.warps_k > 1 || (p.split > 1 && p.reduce == 1);
  const int partial = shares_sums ? p.warps_k * p.bm * p.bn * bytes : 0;
  const int before = p.cut == 1 ? p.bm * p.bn * bytes : 0;
  return std::max(stages, partial) + rounded(8 * p.stages) + before;
}

/// Whether cp.async copies operands along k, too.
inline bool transposes_async(const SimtParams& p) { return p.load == 3; }
inline bool copies_async(const SimtParams& p) { return p.load == 1 || transposes_async(p); }

/// Rows and columns of a stage that pass through registers.
inline int staged_extent(const Problem& problem, const SimtParams& p) {
  if (transposes_async(p)) return 0;
  return (p.load == 0 || a_along_k(problem, p) ? p.bm : 0) + (p.load == 0 || b_along_k(problem, p) ? p.bn : 0);
}

/// Sums, two fragments, staged vectors, addresses; fitted to what ptxas reports for this kernel.
inline int registers(const Problem& problem, const SimtParams& p, const ModelNumbers& numbers) {
  const int words = accumulator_registers(problem);
  const int staged = staged_extent(problem, p) * p.bk * words / threads(p);
  return words * (p.tm * p.tn + 2 * (p.tm + p.tn)) + staged + whole(numbers.simt_registers);
}

/// What ptxas asks for where nothing limits it. The rules keep the coarser registers(): it decides what is a candidate,
/// this one what becomes of it.
inline double wanted_registers(const Problem& problem, const SimtParams& p, const ModelNumbers& numbers) {
  const int words = accumulator_registers(problem);
  const double each = static_cast<double>(p.bk) * words / threads(p);
  const double staged = staged_extent(problem, p) * each;
  const double copied = copies_async(p) ? (p.bm + p.bn) * each - staged : 0;
  return words * (numbers.simt_wanted_sum * p.tm * p.tn + numbers.simt_wanted_fragment * (p.tm + p.tn)) +
         numbers.simt_wanted_staged * staged + numbers.simt_wanted_copied * copied + numbers.simt_wanted_registers;
}

}  // namespace mmtune::simt_shape
