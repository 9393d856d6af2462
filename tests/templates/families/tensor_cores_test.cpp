// How the families of tensor cores lay out their tiles.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "templates/family/families.h"
#include "templates/family/render.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"
#include "tests/templates/family/settings.h"

namespace mmtune::test {
namespace {

const TensorMapSpec& map_named(const LaunchPlan& plan, std::string_view name) {
  for (const TensorMapSpec& map : plan.maps) {
    if (map.name == name) return map;
  }
  throw std::out_of_range(std::string(name));
}

/// What the configuration with these settings breaks; empty for one that the family has.
std::string_view broken_rule(std::string_view family, const Problem& problem, std::string_view settings) {
  const Family& of = family_named(family);
  return of.broken_rule(problem, of.with_defaults(of.parse(settings), problem), catalog_gpu("h200"));
}

LaunchPlan plan_of(std::string_view family, const Problem& problem, std::string_view settings) {
  const Family& of = family_named(family);
  EXPECT_EQ(broken_rule(family, problem, settings), "") << settings;
  return of.plan(problem, of.with_defaults(of.parse(settings), problem), catalog_gpu("h200"));
}

constexpr std::string_view kNarrow = "BM=64 BN=32 CONSUMERS=1 SWAP=0 GROUP=1";

TEST(Wgmma, NarrowTilesAreContiguousInNarrowLines) {
  const LaunchPlan across = plan_of("wgmma", packed_problem(Precision::bf16, Layout::nn, 64, 4096, 4096), kNarrow);
  const TensorMapSpec& b = map_named(across, "B");
  EXPECT_EQ(b.swizzle_bytes, 64);
  EXPECT_EQ(b.dimensions[0].box, 32);  // columns of C
  EXPECT_EQ(b.dimensions[1].box, 64);  // steps along k
  EXPECT_EQ(map_named(across, "A").swizzle_bytes, 128);
  EXPECT_EQ(map_named(across, "C").swizzle_bytes, 64);
  EXPECT_EQ(map_named(across, "C").dimensions[0].box, 32);

  const LaunchPlan along = plan_of("wgmma", packed_problem(Precision::bf16, Layout::nt, 64, 4096, 4096), kNarrow);
  EXPECT_EQ(map_named(along, "B").swizzle_bytes, 128);
  EXPECT_EQ(map_named(along, "B").dimensions[0].box, 64);
  EXPECT_EQ(map_named(along, "B").dimensions[1].box, 32);
}

// A last line that a tile does not fill begins earlier.
TEST(Wgmma, LinesOfCAreTheWidestThatATileFills) {
  const auto columns = [](Precision precision, int width) {
    const Problem problem = packed_problem(precision, Layout::nt, 4096, 4096, 4096);
    const LaunchPlan plan = plan_of("wgmma", problem, fmt::format("BM=64 BN={} CONSUMERS=1", width));
    const TensorMapSpec& c = map_named(plan, "C");
    EXPECT_EQ(c.dimensions[0].box * traits(precision).c.bytes, c.swizzle_bytes);
    return c.dimensions[0].box;
  };
  EXPECT_EQ(columns(Precision::bf16, 24), 16);
  EXPECT_EQ(columns(Precision::bf16, 40), 32);
  EXPECT_EQ(columns(Precision::bf16, 72), 64);
  EXPECT_EQ(columns(Precision::bf16_fp32, 24), 16);
  EXPECT_EQ(columns(Precision::bf16_fp32, 40), 32);
  const auto stored = [](int width) {
    const Problem problem = packed_problem(Precision::bf16, Layout::nt, 4096, 4096, 4096);
    return plan_of("wgmma", problem, fmt::format("BM=64 BN={} CONSUMERS=1", width)).work.stored_share;
  };
  EXPECT_EQ(stored(64), 1);
  EXPECT_DOUBLE_EQ(stored(24), 32 / 24.0);
}

/// What a launch of a product of bf16 says of its beginning: stages to prefetch, or when the next call is let in.
std::int64_t said(std::string_view what, std::int64_t m, std::int64_t n, std::int64_t k, std::string_view settings) {
  const LaunchPlan plan = plan_of("wgmma", packed_problem(Precision::bf16, Layout::nt, m, n, k), settings);
  const LaunchStep& step = main_step(plan);
  const auto found =
      std::find_if(step.args.begin(), step.args.end(), [&](const Arg& arg) { return arg.parameter == what; });
  if (found == step.args.end()) throw std::out_of_range(std::string(what));
  return found->value;
}

TEST(Wgmma, AsksL2ForWhatMemoryBringsWhileItIdlesBetweenCalls) {
  const DeviceSpec gpu = catalog_gpu("h200");
  const double bytes_per_us = gpu.memory_bandwidth_gb_s * 1e3;
  const auto prefetched = [](std::int64_t m, std::int64_t n, std::string_view settings) {
    return said("prefetched", m, n, 4096, settings);
  };
  constexpr std::int64_t kLine = 128;  // the bytes of a stage along k
  constexpr std::string_view kTile = "BM=64 BN=64 CONSUMERS=1";
  // In one row of tiles or one column each block asks for its own, by pairs of stages.
  const double own = 1.25 * bytes_per_us / gpu.sm_count / (64 * kLine);
  EXPECT_NEAR(static_cast<double>(prefetched(64, 5120, kTile)), own, 0.5);
  EXPECT_EQ(prefetched(5120, 64, kTile), prefetched(64, 5120, kTile));
  EXPECT_GE(prefetched(64, 5120, "BM=64 BN=128 CONSUMERS=1 CLUSTER_M=1"), 2);
  // In several the first of each row and column ask for others, too, so that it is less.
  const std::int64_t several = prefetched(1024, 1024, kTile);
  EXPECT_GE(several, 1);
  EXPECT_LE(several * (1024 + 1024) * kLine, 0.25 * bytes_per_us);
  EXPECT_EQ(prefetched(8192, 8192, "BM=256 BN=128"), 0) << "a stage of the first blocks is too much";
  EXPECT_EQ(said("prefetched", 64, 5120, 4095, "BM=64 BN=64 CONSUMERS=1 PACK=1"), 0) << "copies are not there yet";
}

TEST(Wgmma, LetsTheNextCallInAtItsBeginningWhereThatFindsAnSmForEveryBlock) {
  constexpr std::string_view kBeside = "BM=64 BN=64 CONSUMERS=1 MIN_BLOCKS=2";
  EXPECT_EQ(said("is_late", 64, 8192, 4096, kBeside), 0);
  EXPECT_EQ(said("prefetched", 64, 8192, 4096, kBeside), 0) << "it would take from what this call fetches";
  EXPECT_EQ(said("is_late", 64, 8192, 512, kBeside), 1) << "a short call";
  EXPECT_EQ(said("is_late", 64, 16384, 4096, kBeside), 1) << "more blocks than SMs";
  EXPECT_GT(said("prefetched", 64, 16384, 4096, kBeside), 0);
  EXPECT_EQ(said("is_late", 64, 4096, 4096, "BM=64 BN=64 CONSUMERS=1"), 0);
  EXPECT_EQ(said("is_late", 64, 4096, 4096, "BM=64 BN=64 CONSUMERS=1 LATE=1"), 1);
}

/// Whether a search on an H200, with 132 SMs, tries the configuration with these settings for bf16 `nn`.
bool is_searched(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view settings) {
  const Problem problem = packed_problem(Precision::bf16, Layout::nn, m, n, k);
  EXPECT_EQ(broken_rule("wgmma", problem, settings), "") << settings;
  const Family& wgmma = family_named("wgmma");
  return wgmma.judge(problem, wgmma.with_defaults(wgmma.parse(settings), problem), catalog_gpu("h200")).searched();
}

TEST(Wgmma, TwoBlocksAnSmAreSearchedWhereTheyDoNotLieInPairs) {
  constexpr std::string_view kBeside = "BM=64 BN=64 CONSUMERS=1 MIN_BLOCKS=2 GROUP=1";
  EXPECT_FALSE(is_searched(704, 704, 4096, kBeside)) << "121 blocks";
  EXPECT_TRUE(is_searched(704, 576, 4096, kBeside)) << "99 blocks, three quarters of the SMs";
  EXPECT_FALSE(is_searched(640, 640, 4096, kBeside)) << "100 blocks";
  EXPECT_TRUE(is_searched(704, 832, 4096, kBeside)) << "143 blocks";
  EXPECT_TRUE(is_searched(704, 704, 1024, kBeside)) << "few steps";
}

TEST(Wgmma, TheLargestTilesAreSearchedForOneWave) {
  constexpr std::string_view kLargest = "BM=256 BN=208 CONSUMERS=2 SWAP=0 GROUP=1";
  EXPECT_TRUE(is_searched(1280, 5120, 16384, kLargest)) << "125 blocks";
  EXPECT_FALSE(is_searched(1536, 5120, 16384, kLargest)) << "150 blocks";
  EXPECT_TRUE(is_searched(1536, 5120, 16384, "BM=256 BN=192 CONSUMERS=2 SWAP=0 GROUP=1"));
  const Problem odd = packed_problem(Precision::bf16, Layout::nn, 1280, 5119, 16384);
  EXPECT_EQ(broken_rule("wgmma", odd, "BM=256 BN=208 CONSUMERS=2 SWAP=0 PACK=1"), "a thread has registers for its sums")
      << "its results are no boxes";
}

TEST(Wgmma, SumsThatOneConsumerPromotesKeepTheTensorCoresWaiting) {
  const auto slots = [](Precision precision, std::string_view settings) {
    return plan_of("wgmma", packed_problem(precision, Layout::nt, 512, 4096, 4096), settings).work.issue_slots_per_fma;
  };
  constexpr std::string_view kOne = "BM=64 BN=128 CONSUMERS=1 SWAP=0 GROUP=1";
  constexpr std::string_view kTwo = "BM=128 BN=128 CONSUMERS=2 SWAP=0 GROUP=1";
  EXPECT_EQ(slots(Precision::bf16, kOne), slots(Precision::bf16, kTwo));
  EXPECT_GT(slots(Precision::e4m3_bf16, kOne), 1.3 * slots(Precision::e4m3_bf16, kTwo));
}

TEST(Wgmma, ConsumersThatTakeTurnsPromoteBesideEachOtherWhereBothHaveTiles) {
  const auto slots = [](std::int64_t n) {
    const Problem problem = packed_problem(Precision::e4m3_bf16, Layout::nt, 512, n, 4096);
    return plan_of("wgmma", problem, "BM=64 BN=192 CONSUMERS=2 PINGPONG=1 SWAP=0 GROUP=1").work.issue_slots_per_fma;
  };
  constexpr std::int64_t kTilesOf132Sms = 16 * 192;  // 128 tiles, 8 along m
  EXPECT_GT(slots(kTilesOf132Sms), 1.3 * slots(2 * kTilesOf132Sms));
}

TEST(Wgmma, TwoRowsOfTilesAreWalkedTogether) {
  const DeviceSpec& device = catalog_gpu("h100");
  const Problem problem = packed_problem(Precision::e4m3_bf16, Layout::nt, 256, 6400, 5120);
  const Family& wgmma = family_named("wgmma");
  const auto time_us = [&](std::string_view settings) {
    const Config config = wgmma.with_defaults(wgmma.parse(settings), problem);
    EXPECT_TRUE(wgmma.judge(problem, config, device).searched()) << settings;
    return predict(problem, wgmma.plan(problem, config, device), device, 0).time_us;
  };
  EXPECT_LT(time_us("BM=128 BN=128 GROUP=4"), time_us("BM=128 BN=128 GROUP=1"));
}

TEST(Wgmma, AStageIsThreeQuartersFull) {
  const auto broken = [](Layout layout, std::string_view settings) {
    return broken_rule("wgmma", packed_problem(Precision::bf16, layout, 4096, 4096, 4096), settings);
  };
  constexpr std::string_view kThreeQuarters = "three quarters of what a stage holds are of the tile";
  constexpr std::string_view kLinesOf160Bytes = "BM=80 BN=64 CONSUMERS=1 SWAP=1";
  EXPECT_EQ(broken(Layout::tn, kLinesOf160Bytes), kThreeQuarters);
  EXPECT_EQ(broken(Layout::nn, kLinesOf160Bytes), "");
  EXPECT_EQ(broken(Layout::tn, "BM=48 BN=64 CONSUMERS=1 SWAP=1"), "") << "96 of 128 bytes";
  EXPECT_EQ(broken(Layout::tn, "BM=32 BN=64 CONSUMERS=1 SWAP=1"), "") << "lines of 64 bytes";
  EXPECT_EQ(broken(Layout::nn, "BM=128 BN=136"), kThreeQuarters);
  EXPECT_EQ(broken(Layout::nn, "BM=128 BN=144"), "");
  EXPECT_EQ(broken(Layout::nt, "BM=128 BN=136"), "");
}

// What passes through a buffer would begin before its tile: an H200 met an illegal instruction.
TEST(Wgmma, ResultsOfLowTilesFillBoxesOrPassThroughNone) {
  const auto broken = [](Precision precision, const std::string& settings) {
    const Problem problem = packed_problem(precision, Layout::nt, 4096, 4096, 4096);
    return broken_rule("wgmma", problem, "CONSUMERS=1 SWAP=1 " + settings);
  };
  constexpr std::string_view kBoxes = "the results of a low tile are whole boxes, parts, or columns of no fragment";
  for (const std::string tile : {"BM=24 BN=64", "BM=40 BN=64", "BM=56 BN=64"}) {
    EXPECT_EQ(broken(Precision::bf16, tile), kBoxes) << tile;
    EXPECT_EQ(broken(Precision::bf16, tile + " SPLIT=4"), "") << tile;
    EXPECT_EQ(broken(Precision::bf16, tile + " SPLIT=4 REDUCE=1"), "") << tile;
  }
  EXPECT_EQ(broken(Precision::bf16, "BM=48 BN=64"), "");
  EXPECT_EQ(broken(Precision::bf16, "BM=72 BN=64"), "") << "two buffers";
  EXPECT_EQ(broken(Precision::bf16_fp32, "BM=40 BN=64"), "") << "two buffers";
  EXPECT_EQ(broken(Precision::bf16_fp32, "BM=24 BN=64"), kBoxes);
  EXPECT_EQ(broken(Precision::bf16, "BM=40 BN=72"), "") << "columns that do not fill the last fragment";
}

TEST(Wgmma, OfWideTilesAlongNLittleIsFiller) {
  const Family& wgmma = family_named("wgmma");
  const auto bytes_per_k = [&](Layout layout, std::string_view settings) {
    const Problem problem = packed_problem(Precision::bf16, layout, 4096, 4096, 4096);
    const Config config = wgmma.with_defaults(wgmma.parse(settings), problem);
    return wgmma.plan(problem, config, catalog_gpu("h200")).work.bytes_per_k;
  };
  EXPECT_EQ(bytes_per_k(Layout::nt, "BM=128 BN=112"), 2 * (128 + 112));
  EXPECT_EQ(bytes_per_k(Layout::nn, "BM=128 BN=112"), 2 * (128 + 128));
  EXPECT_EQ(bytes_per_k(Layout::nn, "BM=128 BN=160"), 2 * (128 + 192));
  EXPECT_EQ(bytes_per_k(Layout::nn, "BM=128 BN=96"), 2 * (128 + 96)) << "three lines of 64 bytes";
}

TEST(Wgmma, FetchesTwoLinesAtOnceOnlyWhereALongOperandIsReadOnce) {
  constexpr std::string_view kTwo = "BM=64 BN=64 CONSUMERS=1 GROUP=1 FETCH=256";
  const Family& wgmma = family_named("wgmma");
  const auto is_searched = [&](std::int64_t m, std::int64_t n) {
    const Problem problem = packed_problem(Precision::bf16, Layout::nt, m, n, 4096);
    return wgmma.judge(problem, wgmma.with_defaults(wgmma.parse(kTwo), problem), catalog_gpu("h100")).searched();
  };
  EXPECT_TRUE(is_searched(16, 16384));
  EXPECT_TRUE(is_searched(16384, 16));
  EXPECT_FALSE(is_searched(16, 4096)) << "L2 holds it";
  EXPECT_FALSE(is_searched(128, 16384));
  const auto fetched = [](std::string_view settings) {
    const Problem problem = packed_problem(Precision::bf16, Layout::nt, 16, 16384, 4096);
    return map_named(plan_of("wgmma", problem, settings), "B").l2_promotion_bytes;
  };
  EXPECT_EQ(fetched("BM=64 BN=64 CONSUMERS=1 GROUP=1"), 128);
  EXPECT_EQ(fetched(kTwo), 256);
}

TEST(Wgmma, BlocksThatWaitFindRoomBesideItsOwn) {
  const Problem deep = packed_problem(Precision::bf16, Layout::nn, 256, 256, 16384);
  const LaunchPlan plan = plan_of("wgmma", deep, "BM=64 BN=64 CONSUMERS=1 SPLIT=8 GROUP=1");
  ASSERT_EQ(plan.steps.size(), 2U);
  const DeviceSpec& device = catalog_gpu("h200");
  EXPECT_GE(device.smem_per_sm - plan.steps[0].smem_bytes,
            device.smem_reserved_per_block * 5);  // its own and those of four that add parts
  EXPECT_GT(constant_of(plan, "STAGES"), 8);
}

TEST(Wgmma, BlocksThatShareAnSmHaveHalfOfItEach) {
  const DeviceSpec& device = catalog_gpu("h200");
  for (const std::string_view settings : {"BM=64 BN=128 CONSUMERS=1", "BM=128 BN=64 CONSUMERS=2"}) {
    const LaunchPlan plan = plan_of("wgmma", packed_problem(Precision::bf16, Layout::nt, 4096, 4096, 4096),
                                    fmt::format("{} MIN_BLOCKS=2", settings));
    const LaunchStep& step = main_step(plan);
    EXPECT_LE(2 * (step.smem_bytes + device.smem_reserved_per_block), device.smem_per_sm);
    EXPECT_EQ(step.grid.x, 2 * device.sm_count);
    const std::int64_t consumers = step.block.x / 128 - 1;
    EXPECT_LE(2 * 128 * (constant_of(plan, "PRODUCER_REGISTERS") + consumers * constant_of(plan, "CONSUMER_REGISTERS")),
              device.max_registers_per_sm);
  }
}

// ptxas compiles no instruction that has too few of the registers with which a block begins (error C7602).
TEST(Wgmma, BlocksThatShareAnSmBeginWithRegistersForAnInstruction) {
  const Problem problem = packed_problem(Precision::int8, Layout::nn, 1000, 1000, 1000);
  const auto rule = [&](int columns) {
    return broken_rule("wgmma", problem,
                       fmt::format("BM=64 BN={} CONSUMERS=1 CLUSTER_M=2 PACK=1 MIN_BLOCKS=2", columns));
  };
  EXPECT_EQ(rule(208), "blocks that share an SM begin with registers for an instruction");
  EXPECT_EQ(rule(192), "");
}

// A tile's rows are an instruction's columns where they change places, and the widest tiles have two instructions.
TEST(Wgmma, ThereIsAnInstructionForEveryExtentOfATile) {
  const std::string& text = TemplateFiles::embedded().device_headers().at("mmtune/wgmma.cuh");
  for (const ParamInfo& param : family_named("wgmma").params()) {
    if (param.name != "BM" && param.name != "BN") continue;
    for (const auto width : param.values) {
      const auto columns = width > 256 ? width - 192 : width;
      EXPECT_NE(text.find(fmt::format("X({}, ", columns)), std::string::npos) << param.name << "=" << width;
    }
  }
}

TEST(MmaSync, StepsOfFp64AreAsDeepAsRegistersAllow) {
  const Problem problem = packed_problem(Precision::fp64, Layout::nn, 4096, 4096, 4096);
  EXPECT_EQ(constant_of(plan_of("mma_sync", problem, "BM=64 BN=64 WM=32 WN=32 BK_BYTES=128"), "PIECE_BYTES"), 64);
  EXPECT_EQ(constant_of(plan_of("mma_sync", problem, "BM=128 BN=128 WM=64 WN=32 BK_BYTES=128"), "PIECE_BYTES"), 32);
  EXPECT_EQ(broken_rule("mma_sync", problem, "BM=64 BN=64 WM=32 WN=32 BK_BYTES=32"),
            "a stage is whole instructions along k");
}

}  // namespace
}  // namespace mmtune::test
