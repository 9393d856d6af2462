// One thread per element of C or per small square of elements, without shared memory; see kernel.cu for the picture.
#include "templates/family/family_of.h"
#include "templates/model/numbers.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

constexpr int kLinear = 0, kUncoalesced = 1, kCoalesced = 2, kBlockCoarse = 3;  // the values of MAPPING

struct Naive {
  struct Params {
    Param mapping{kCoalesced}, bx{32}, by{8}, coarse{1}, unroll{4};
  };

  static constexpr std::string_view kName = "naive";
  static constexpr std::string_view kSummary =
      "one thread per element of C, or per square of elements; no shared memory";

  static const ParamTable<Params>& table() {
    static const ParamTable<Params> rows = {
        {"MAPPING",
         &Params::mapping,
         {{kLinear, "linear"},
          {kUncoalesced, "uncoalesced"},
          {kCoalesced, "coalesced"},
          {kBlockCoarse, "block_coarse"}},
         "which elements of C a block's threads have"},
        {"BX", &Params::bx, {1, 2, 4, 8, 16, 32}, "threads of a block along x"},
        {"BY", &Params::by, {1, 2, 4, 8, 16, 32}, "threads of a block along y"},
        {"COARSE", &Params::coarse, {1, 2, 4, 8, 16, 32}, "rows and columns of a thread's square of C"},
        {"UNROLL", &Params::unroll, {1, 2, 4, 8}, "steps along k per turn of the loop"},
    };
    return rows;
  }

  static void rules(const Problem&, const Params& p, const DeviceSpec&, Rules& rules) {
    rules.must(p.mapping != kLinear || (p.bx == 1 && p.by == 1), "the linear mapping has blocks of one thread");
    rules.must(p.mapping == kBlockCoarse || p.coarse == 1, "only block_coarse has COARSE above 1");
    rules.must(p.mapping != kBlockCoarse || p.coarse > 1, "block_coarse has COARSE above 1");
    rules.must(!in_local_memory(p) || p.unroll == 1, "COARSE above 8 leaves no registers to unroll");
  }

  /// Whether a thread's sums are an array that the compiler cannot keep in registers.
  static bool in_local_memory(const Params& p) { return p.coarse > 8; }

  static int tile_m(const Params& p) { return (p.mapping == kUncoalesced ? p.bx : p.by) * p.coarse; }
  static int tile_n(const Params& p) { return (p.mapping == kUncoalesced ? p.by : p.bx) * p.coarse; }

  static Summation summation(const Problem&, const Params&, const DeviceSpec&) {
    return {.adder = Summation::Adder::fma};
  }

  static LaunchPlan plan(const Problem& problem, const Params& p, const DeviceSpec& device) {
    LaunchStep gemm;
    gemm.grid.x = tiles_of_c(problem, tile_m(p), tile_n(p));
    gemm.block = {p.bx, p.by, 1};
    gemm.args = blas_arguments();
    LaunchPlan plan;
    plan.steps = {gemm};
    plan.constants = {{"BM", tile_m(p)}, {"BN", tile_n(p)}};
    plan.work = estimate(problem, p, device);
    return plan;
  }

  /// 128-byte lines that one load touches when `count` neighbouring threads of a warp read elements `step` bytes
  /// apart, or in rows of their own.
  static int lines(int count, bool contiguous, int step) {
    return contiguous ? static_cast<int>(ceil_div(std::int64_t{count} * step, 128)) : count;
  }

  static WorkEstimate estimate(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const PrecisionTraits& types = traits(problem.precision);
    const int lanes = std::min(32, p.bx * p.by);
    const int lanes_x = std::min<int>(p.bx, lanes);
    const int rows = p.mapping == kUncoalesced ? lanes_x : lanes / lanes_x;  // the threads of a warp, by what they read
    const int columns = lanes / rows;
    const int lines_a = lines(rows, transposes_a(problem.layout), p.coarse * types.a.bytes);
    const int lines_b = lines(columns, !transposes_b(problem.layout), p.coarse * types.b.bytes);
    const double loads = 2.0 / p.coarse;  // the loads per multiply-add
    const ModelNumbers& numbers = model_numbers(device);
    const bool local = in_local_memory(p);

    WorkEstimate work;
    work.issue_slots_per_fma = 1 + loads * (numbers.naive_load_slots + widening_slots(problem)) +
                               (local ? numbers.naive_local_slots : numbers.naive_turn_slots / (p.unroll * p.coarse));
    work.bytes_per_k = fetched_bytes_per_k(problem, tile_m(p), tile_n(p));
    // L1 serves one line a clock, as it does a whole row of shared memory; sums in local memory go there and back.
    constexpr double kLine = kMemoryLine, kThereAndBack = 2 * sizeof(int);
    work.smem_bytes_per_fma =
        kLine * (lines_a + lines_b) / (p.coarse * lanes) + (local ? kThereAndBack * accumulator_registers(problem) : 0);
    work.tile_m = tile_m(p);
    work.tile_n = tile_n(p);
    work.tile_k = p.unroll;
    work.registers = registers(problem, p, device);
    work.bytes_in_flight = static_cast<int>(p.unroll * work.bytes_per_k);
    return work;
  }

  /// Sums, one step's operands and their addresses; then as many loads in advance as unrolling asks for and as the size
  /// of the block leaves room for.
  static int registers(const Problem& problem, const Params& p, const DeviceSpec& device) {
    const ModelNumbers& numbers = model_numbers(device);
    if (in_local_memory(p)) return whole(numbers.naive_local_registers);
    const int words = accumulator_registers(problem);
    const int needed =
        whole(numbers.naive_registers + words * p.coarse * (p.coarse + 1) + numbers.naive_row_registers * p.coarse);
    const int in_advance = std::min(whole(numbers.naive_ahead_registers), words * p.coarse * (2 * p.unroll - 1));
    const int allowed = std::min(device.max_registers_per_thread, device.max_registers_per_block / (p.bx * p.by));
    return std::max(needed, std::min(needed + in_advance, allowed));
  }
};

}  // namespace

MMTUNE_FAMILY(naive, Naive)

}  // namespace mmtune
