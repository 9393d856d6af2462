// What single families promise.
#include <gtest/gtest.h>

#include <random>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/space/space.h"

namespace mmtune {
namespace {

TEST(Families, StateTheRuleThatIsBroken) {
  const struct {
    std::string_view family, config, rule;
  } cases[] = {
      {"naive", "MAPPING=0", "the linear mapping has blocks of one thread"},
      {"naive", "MAPPING=1 COARSE=2", "only block_coarse has COARSE above 1"},
      {"naive", "MAPPING=3 COARSE=1", "block_coarse has COARSE above 1"},
      {"naive", "MAPPING=3 COARSE=32 UNROLL=2", "COARSE above 8 leaves no registers to unroll"},
      {"naive", "MAPPING=3 BX=32 BY=32 COARSE=8", "the estimated registers fit a block"},
      {"tiled", "TILE=8 UNROLL=16", "UNROLL divides TILE"},
      {"tiled_coarsened", "TILE=8 UNROLL=16", "UNROLL divides TILE"},
      {"tiled_coarsened", "CM=1 CN=1", "a coarsened thread owns more than one element"},
      {"simt", "BK=16 WARPS_K=2 STREAM=1", "WARPS_K is for blocks with one part of one tile"},
      {"simt", "BK=16 WARPS_K=2 CUT=1", "WARPS_K is for blocks with one part of one tile"},
      {"simt", "BM=32 BN=32 BK=64 TM=4 WARPS_K=8", "WARPS_K gives each thread as many vectors of sums"},
      {"naive", "MAPPING=0 BX=1 BY=1 UNROLL=1", ""},
      {"naive", "MAPPING=1 BX=32 BY=32", ""},
      {"naive", "MAPPING=3 COARSE=32 UNROLL=1", ""},
      {"tiled", "TILE=32 UNROLL=32", ""},
      {"tiled_coarsened", "TILE=32 CM=1 CN=2", ""},
      {"simt", "BK=16 WARPS_K=2", ""},
  };
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 1000, 1000, 1000);
  for (const auto& [name, text, rule] : cases) {
    const Family& family = family_named(name);
    const Config config = family.with_defaults(family.parse(text), problem);
    EXPECT_EQ(family.broken_rule(problem, config, catalog_gpu("h200")), rule) << name << ' ' << text;
  }
}

TEST(Families, LinearMappingStopsAtTheGridLimit) {
  const Family& naive = family_named("naive");
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 65536, 65536, 1);
  const Config config = naive.with_defaults(naive.parse("MAPPING=linear BX=1 BY=1"), problem);
  EXPECT_EQ(naive.broken_rule(problem, config, catalog_gpu("h200")), "the grid's x extent is at most 2^31-1");
}

TEST(Families, LeaveExtentsOutThatTheyCannotCount) {
  constexpr std::int64_t kEnd = std::int64_t{1} << 31;  // of coordinates and of counts
  const struct {
    std::string_view family, config;
    Problem most, more;
  } cases[] = {
      {"simt", "LOAD=2", packed_problem(Precision::fp32, Layout::tn, kEnd - 4096, 4, 4),
       packed_problem(Precision::fp32, Layout::tn, kEnd, 4, 4)},
      {"simt", "BK=8 UNROLL=8 LOAD=0 STAGES=2", packed_problem(Precision::int8, Layout::nt, 4, 4, 8 * (kEnd - 4096)),
       packed_problem(Precision::int8, Layout::nt, 4, 4, 8 * kEnd)},
      // The last of a cluster's tiles begins more than 1024 rows behind the first.
      {"wgmma", "BM=320 BN=64 SWAP=1 CONSUMERS=1 CLUSTER_M=4",
       packed_problem(Precision::bf16, Layout::nt, kEnd - 4096, 8, 8),
       packed_problem(Precision::bf16, Layout::nt, kEnd - 1088, 8, 8)},
  };
  for (const auto& [name, text, most, more] : cases) {
    const Family& family = family_named(name);
    const Config config = family.with_defaults(family.parse(text), most);
    EXPECT_EQ(family.broken_rule(most, config, catalog_gpu("h200")), "") << name << ' ' << text;
    EXPECT_TRUE(family.broken_rule(more, config, catalog_gpu("h200")).ends_with("32 bits")) << name << ' ' << text;
  }
}

// With 192 registers for sums and rows the compiler serialises the multiplications.
TEST(Families, TurnsOfConsumersLeaveRegistersForRowsOfTf32) {
  const Family& wgmma = family_named("wgmma");
  const Problem problem = packed_problem(Precision::tf32, Layout::tn, 2048, 2048, 2048);
  const auto rule = [&](const char* text) {
    return wgmma.broken_rule(problem, wgmma.with_defaults(wgmma.parse(text), problem), catalog_gpu("h200"));
  };
  EXPECT_EQ(rule("BM=320 BN=64 PINGPONG=1 SWAP=1 PACK=1"), "a thread has registers for its sums");
  EXPECT_EQ(rule("BM=256 BN=64 PINGPONG=1 SWAP=1 PACK=1"), "");
}

TEST(Families, SwapTheTileOfTheUncoalescedMapping) {
  const Family& naive = family_named("naive");
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 100, 100, 100);
  const auto blocks = [&](std::string_view text) {
    return naive.plan(problem, naive.with_defaults(naive.parse(text), problem), catalog_gpu("h200")).steps[0].grid.x;
  };
  EXPECT_EQ(blocks("MAPPING=1 BX=32 BY=1"), 4 * 100);
  EXPECT_EQ(blocks("MAPPING=2 BX=32 BY=2"), 50 * 4);
  EXPECT_EQ(blocks("MAPPING=3 BX=4 BY=2 COARSE=4"), 13 * 7);
}

TEST(Families, SharedMemoryHoldsTheTilesAndPadsTransposedOnes) {
  const auto bytes = [](std::string_view name, std::string_view text, Precision precision, Layout layout) {
    const Family& family = family_named(name);
    const Problem problem = packed_problem(precision, layout, 64, 64, 64);
    return family.plan(problem, family.with_defaults(family.parse(text), problem), catalog_gpu("h200"))
        .steps[0]
        .smem_bytes;
  };
  EXPECT_EQ(bytes("tiled", "TILE=16", Precision::fp32, Layout::nn), 2 * 1024);
  EXPECT_EQ(bytes("tiled", "TILE=32", Precision::fp32, Layout::nn), 8 * 1024);
  EXPECT_EQ(bytes("tiled", "TILE=32", Precision::fp64, Layout::nn), 16 * 1024);
  EXPECT_EQ(bytes("tiled", "TILE=32", Precision::bf16, Layout::tn), (32 * 33 + 32 * 32) * 2);
  EXPECT_EQ(bytes("tiled_coarsened", "TILE=16 CM=1 CN=2", Precision::int32, Layout::nn), 3 * 1024);
  EXPECT_EQ(bytes("tiled_coarsened", "TILE=32 CM=1 CN=2", Precision::int32, Layout::nn), 12 * 1024);
  EXPECT_EQ(bytes("tiled_coarsened", "TILE=16 CM=2 CN=4", Precision::fp32, Layout::tt), (32 * 17 + 16 * 65) * 4);
}

/// Whether the space has any configuration. The whole of it is counted only where none of many drawn ones is in it,
/// since that takes a second.
bool has_any(const SearchSpace& space) {
  constexpr int kDraws = 20000;
  std::mt19937_64 random(1);
  for (int i = 0; i < kDraws; ++i) {
    const auto number = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(space.size()));
    if (space.contains(space.config(number))) return true;
  }
  return space.count().searched > 0;
}

TEST(Simt, HasSomethingToTryInEveryShape) {
  constexpr std::int64_t kShapes[][3] = {{1, 1, 1},        {16, 8192, 8192},   {64, 4096, 4096},
                                         {4096, 64, 4096}, {8192, 1, 8192},    {256, 256, 16384},
                                         {8192, 8192, 64}, {8192, 8192, 8192}, {4095, 33, 1000}};
  const Family& simt = family_named("simt");
  for (const auto& [m, n, k] : kShapes) {
    for (const char* gpu : {"h200", "t4", "p100"}) {
      const Problem problem = packed_problem(Precision::fp32, Layout::nn, m, n, k);
      EXPECT_TRUE(has_any(SearchSpace(simt, problem, catalog_gpu(gpu)))) << to_string(problem) << " on " << gpu;
    }
  }
}

}  // namespace
}  // namespace mmtune
