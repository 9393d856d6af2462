// How a configuration is launched for one problem, as plain data: runtime/gpu/launch.cpp turns it into driver calls, so
// a family needs no CUDA header, and tests read it like a table.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "templates/gpu/device_spec.h"
#include "templates/plan/arg.h"
#include "templates/plan/tensor_map.h"
#include "templates/plan/workspace_layout.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// A constant of the rendered source: an int or a bool.
struct Constant {
  std::string_view name;  ///< a literal
  std::int64_t value = 0;
  bool is_bool = false;

  Constant(std::string_view named, std::int64_t number) : name(named), value(number) {}
  template <std::same_as<bool> Bool>
  Constant(std::string_view named, Bool holds) : name(named), value(holds), is_bool(true) {}
};

/// Blocks or threads per dimension.
struct Extent3 {
  std::int64_t x = 1;
  int y = 1;
  int z = 1;

  friend bool operator==(const Extent3&, const Extent3&) = default;
};

/// One kernel launch. Block size and shared memory depend on the configuration alone, never on the extents. The source
/// gets those of the main step as THREADS and SMEM_BYTES; another step's, if its kernel wants to know them, are
/// constants of the plan that start with its kernel's name: PACK_THREADS, PACK_SMEM_BYTES.
struct LaunchStep {
  std::string kernel = "gemm";  ///< extern "C" name in the rendered source
  Extent3 grid = {};            ///< the number of blocks
  Extent3 block = {};           ///< the number of threads
  Extent3 cluster = {};         ///< blocks that form a cluster; divides the grid
  int smem_bytes = 0;           ///< the bytes of dynamic shared memory
  bool resident = false;  ///< whether blocks wait for each other: all must fit the GPU at once, or the launch fails
  /// Blocks take work in turn until nothing is left, so that any smaller number along x does the same. No more clusters
  /// are launched then than the GPU holds at once, which only its driver knows: how many multiprocessors may form a
  /// cluster differs from part to part of a chip. One cluster more would begin when all others have ended.
  bool takes_turns = false;
  /// May start before the step before it has finished, or before what precedes the call on the stream has, since its
  /// kernel waits (templates/device/dependent.cuh).
  bool overlaps_previous = false;
  std::vector<Arg> args = {};  ///< the kernel's arguments in its order, each with its parameter's name

  /// Appends arguments.
  void pass(std::initializer_list<Arg> more) { args.insert(args.end(), more); }
  void pass(const std::vector<Arg>& more) { args.insert(args.end(), more.begin(), more.end()); }

  friend bool operator==(const LaunchStep&, const LaunchStep&) = default;
};

/// How A and B come to a block.
enum class Fetch {
  loads,        ///< They go through registers, or by copies of a few bytes a thread.
  copies,       ///< They come by asynchronous copies of 16 bytes a thread.
  accelerator,  ///< They come by the tensor memory accelerator, while tensor cores multiply what came before.
};

/// How blocks go through C.
struct TileWork {
  int tile_m = 1;   ///< the rows of C per block
  int tile_n = 1;   ///< the columns of C per block
  int tile_k = 1;   ///< the steps along k that a block fetches at once
  int split_k = 1;  ///< the blocks that share one tile of C
  int group = 0;    ///< the rows of tiles, of clusters where there are, that are walked together; 0: not said
  Fetch fetch = Fetch::loads;
  int cluster_m = 1;        ///< the tiles along m whose blocks fetch for each other, a cluster; other clusters add sums
  int cluster_n = 1;        ///< the same along n
  bool persistent = false;  ///< whether at most as many blocks as the GPU holds take tiles in turn
  bool hides_stores = false;      ///< whether a tile is stored while the block multiplies the next
  bool turns_results = false;     ///< whether results are transposed on their way to memory
  bool shares_last_wave = false;  ///< whether all resident blocks share the tiles that do not fill a last wave
  std::int64_t kept_bytes = 0;    ///< the bytes of the workspace that blocks use again and again and L2 keeps
  bool copies_first = false;      ///< whether a step copies operands to the workspace

  friend bool operator==(const TileWork&, const TileWork&) = default;
};

/// What a configuration costs, as far as it can be told without running it; templates/model/cost.h makes a time of it.
struct WorkEstimate : TileWork {
  std::optional<Unit> unit;        ///< the unit that multiplies; by default core_unit() of the precision
  int unit_products = 1;           ///< the products of the unit that one multiply-add takes
  bool by_warps = false;           ///< whether its instructions are a warp's: see warp_fma_per_clock_per_sm()
  double issue_slots_per_fma = 1;  ///< a thread's instructions per multiply-add; below 1 only on tensor cores
  double bytes_per_k = 0;          ///< the bytes that one block fetches from L2 or memory for one step along k
  double in_place_a = 0;  ///< the part of them that is fetched line by line of A's own rows, wherever they begin
  double in_place_b = 0;  ///< the same of B
  double smem_bytes_per_fma = 0;  ///< the shared memory traffic of one multiply-add
  bool meets = true;              ///< whether a block's threads wait for each other after every tile_k steps
  double stored_share = 1;        ///< the results that are stored, some of them twice, as a multiple of all
  /// Steps along k of one result that are taken at once: by threads that share them, or by one instruction.
  int k_lanes = 1;
  int registers = 32;       ///< the expected registers per thread, before the compiler has spoken
  int bytes_in_flight = 0;  ///< the bytes per block while it computes: what hides the latency of memory
};

struct LaunchPlan {
  /// Rendered beside the parameters: what host and kernel must agree on. One that has a parameter's name is rendered
  /// instead of the parameter, whose value then comes with the launch: configurations that differ in it share a
  /// program.
  std::vector<Constant> constants;
  std::vector<LaunchStep> steps;  ///< the steps in stream order
  WorkspaceLayout workspace;
  std::vector<TensorMapSpec> maps;
  Alignment needs{1, 1, 1};   ///< what the operands' alignment must satisfy
  bool deterministic = true;  ///< whether the same call gives the same bits
  bool may_spill = true;      ///< false: a program whose registers spill is not worth a launch
  WorkEstimate work;

  /// Appends a tensor map and returns the argument that names it.
  Arg add_map(TensorMapSpec map);
};

/// Whether a kernel multiplies: its name starts with "gemm".
bool multiplies(std::string_view kernel);

/// The step that multiplies: the first whose kernel does, else the first. The plan must have a step.
const LaunchStep& main_step(const LaunchPlan& plan);

/// Lets every step overlap the one before it, and the first what precedes the call on the stream, on GPUs that can (PTX
/// ISA: griddepcontrol needs sm_90). For plans whose kernels all keep to what templates/device/dependent.cuh asks.
void overlap_steps(LaunchPlan& plan, const DeviceSpec& device);

/// Whether the same machine code does the same work under both plans: constants are in the code, and estimates change
/// nothing.
bool launches_alike(const LaunchPlan& x, const LaunchPlan& y);

/// What keeps the plan's program from being rendered for a batch (Fusion::batched), as "its blocks wait for each
/// other"; empty if nothing does.
std::string_view why_unbatched(const LaunchPlan& plan);

/// What families call the parameter that says how many blocks share a tile's k.
inline constexpr std::string_view kSplit = "SPLIT";

/// A parameter in the rendered source whose value comes with the launch, so that one program serves all: SPLIT of
/// templates/device/split.cuh, GROUP of the family wgmma.
inline constexpr int kAtLaunch = 0;

/// Whether the launch says the value of a parameter, so that the program serves several.
bool is_at_launch(const LaunchPlan& plan, std::string_view parameter);

/// Whether the launch says how many blocks share a tile's k.
bool splits_at_launch(const LaunchPlan& plan);

/// Threads of one block.
std::int64_t block_threads(const LaunchStep& step);

/// Blocks of one cluster.
std::int64_t cluster_blocks(const LaunchStep& step);

/// A matrix that a kernel reads: an operand, or a copy of one in the workspace.
struct MatrixArgs {
  Arg address;
  Arg ld;
};
constexpr MatrixArgs stored(Operand operand) { return {Arg::operand(operand), Arg::ld(operand)}; }

/// Room for a copy of a matrix in the plan's workspace, with rows of whole units of `unit_bytes`.
MatrixArgs add_copy(LaunchPlan& plan, std::string_view name, const StoredShape& shape, int element_bytes,
                    int unit_bytes);

/// The arguments of a kernel that takes everything a BLAS gemm takes:
/// gemm(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc).
std::vector<Arg> blas_arguments(const MatrixArgs& a = stored(Operand::a), const MatrixArgs& b = stored(Operand::b));

/// What a kernel takes first that reads A and B by tensor maps or from copies: gemm(m, n, k, alpha, beta, C, ldc).
std::vector<Arg> result_arguments();

/// What a kernel takes first that copies A and B: pack(m, n, k, A, lda, B, ldb).
std::vector<Arg> operand_arguments();

/// The first thing in a plan that no launch could make sense of, as "step gemm: argument 11: slice 3 of 2": what names
/// nothing, a tensor map beyond the accelerator's limits, a constant that says otherwise than its step. Empty for a
/// good plan. What depends on the device is left to check_common_limits.
std::string plan_fault(const LaunchPlan& plan);

}  // namespace mmtune
