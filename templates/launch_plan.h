// How a configuration is launched for one problem, as plain data: runtime/launch.cpp turns it into driver calls, so a
// family needs no CUDA header, and tests read it like a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "templates/config.h"
#include "templates/device_spec.h"
#include "templates/problem.h"

namespace mmtune {

/// A kernel argument by name. Operand addresses are of type Element*, extents and leading dimensions are 64-bit
/// signed, alpha and beta have the precision's scalar type (templates/dtype.h).
enum class Arg { a, b, c, m, n, k, lda, ldb, ldc, alpha, beta, workspace, map_a, map_b };

/// A copy of an operand that an earlier step writes into the workspace.
struct PackedOperand {
  std::int64_t offset_bytes = 0;  ///< from the start of the workspace, a multiple of 256
  std::int64_t rows = 0;          ///< 0: there is no copy
  std::int64_t columns = 0;       ///< the contiguous extent, without padding
  std::int64_t ld = 0;            ///< elements between two rows

  friend bool operator==(const PackedOperand&, const PackedOperand&) = default;
};

/// A tensor map over A or B, or over its packed copy, for the tensor memory accelerator (sm_90 and later): a 2-D box.
struct TensorMapSpec {
  int box_rows = 0;           ///< rows of the stored matrix in a box, at most 256
  int box_columns = 0;        ///< contiguous elements in a box
  int swizzle_bytes = 0;      ///< 0, 32, 64 or 128: the XOR pattern of 16-byte chunks in shared memory
  PackedOperand packed = {};  ///< what the map is over, if it has rows; else the operand itself

  friend bool operator==(const TensorMapSpec&, const TensorMapSpec&) = default;
};

/// Blocks or threads per dimension.
struct Extent3 {
  std::int64_t x = 1;
  int y = 1;
  int z = 1;

  friend bool operator==(const Extent3&, const Extent3&) = default;
};

/// One kernel launch. Block size and shared memory depend on the configuration alone, never on the extents.
struct LaunchStep {
  std::string kernel = "gemm";  ///< extern "C" name in the rendered source
  Extent3 grid;                 ///< blocks
  Extent3 block;                ///< threads
  int cluster = 1;              ///< blocks along x that form a cluster
  int smem_bytes = 0;           ///< dynamic shared memory
  bool resident = false;        ///< blocks wait for each other: all must fit the GPU at once, or the launch fails
  /// May start before the step before it has finished, since its kernel waits (templates/device/dependent.cuh). Never a
  /// plan's first step: calls follow each other as the stream has them.
  bool overlaps_previous = false;
  std::vector<Arg> args;  ///< in the kernel's order

  friend bool operator==(const LaunchStep&, const LaunchStep&) = default;
};

/// What a configuration costs, as far as it can be told without running it; templates/cost.h makes a time of it.
struct WorkEstimate {
  std::optional<Unit> unit;        ///< what multiplies; by default core_unit() of the precision
  double issue_slots_per_fma = 1;  ///< instructions a thread issues for one multiply-add of the main loop, >= 1
  double bytes_per_k = 0;          ///< bytes one block fetches from L2 or memory for one step along k
  double smem_bytes_per_fma = 0;   ///< shared memory traffic of one multiply-add
  int tile_m = 1;                  ///< rows of C per block
  int tile_n = 1;                  ///< columns of C per block
  int tile_k = 1;                  ///< steps along k between two barriers
  int split_k = 1;                 ///< blocks that share one tile of C
  bool shares_last_wave = false;   ///< all resident blocks share the tiles that do not fill a last wave
  std::int64_t kept_bytes = 0;     ///< of the workspace, that blocks use again and again and L2 keeps
  int k_lanes = 1;                 ///< threads of a block that share the steps along k of one result
  int registers = 32;              ///< expected registers per thread, before the compiler has spoken
  int bytes_in_flight = 0;         ///< per block, while it computes: what hides the latency of memory
};

struct LaunchPlan {
  std::vector<Setting> constants;  ///< rendered beside the parameters: what follows from the operands' alignment
  std::vector<LaunchStep> steps;   ///< in stream order
  std::int64_t workspace_bytes = 0;
  Alignment needs{1, 1, 1};  ///< what the operands' alignment must satisfy
  TensorMapSpec map_a;       ///< used where a step names Arg::map_a
  TensorMapSpec map_b;
  bool deterministic = true;  ///< the same call gives the same bits
  WorkEstimate work;
};

/// The step that multiplies: the first whose kernel's name starts with "gemm", else the first. The plan must have a
/// step.
const LaunchStep& main_step(const LaunchPlan& plan);

/// Lets every step but the first overlap the one before it, on GPUs that can (PTX ISA: griddepcontrol needs sm_90). For
/// plans whose kernels all keep to what templates/device/dependent.cuh asks.
void overlap_steps(LaunchPlan& plan, const DeviceSpec& device);

/// Whether the same machine code does the same work under both plans: constants are in the code, and estimates change
/// nothing.
bool launches_alike(const LaunchPlan& x, const LaunchPlan& y);

/// Threads of one block.
std::int64_t block_threads(const LaunchStep& step);

/// The arguments of a kernel that takes everything a BLAS gemm takes:
/// gemm(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc).
std::vector<Arg> blas_arguments();

}  // namespace mmtune
