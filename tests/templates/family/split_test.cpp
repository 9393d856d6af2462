// Blocks that share a tile's k: how many is not in the program, but in its launch.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>
#include <string>

#include "templates/family/families.h"
#include "templates/family/render.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct Splitting {
  std::string_view family;
  Precision precision;
  std::string_view settings;
  Problem problem = packed_problem(precision, Layout::nn, 24, 256, 8192);

  const Family& named() const { return family_named(family); }
  Config with(int split, std::string_view more = "") const {
    const std::string text = fmt::format("{} SPLIT={} {}", settings, split, more);
    return named().with_defaults(named().parse(text), problem);
  }
  LaunchPlan plan(const Config& config) const {
    EXPECT_EQ(named().broken_rule(problem, config, catalog_gpu("h200")), "") << config.text();
    return named().plan(problem, config, catalog_gpu("h200"));
  }
  Source source(const Config& config) const {
    return render(TemplateFiles::embedded(), named(), problem, config, plan(config), 90);
  }
};

void PrintTo(const Splitting& splitting, std::ostream* out) { *out << splitting.family; }

class Split : public testing::TestWithParam<Splitting> {};

TEST_P(Split, OneProgramServesAllNumbersOfParts) {
  const Splitting& splitting = GetParam();
  SourceHashes hashes(TemplateFiles::embedded());
  std::set<std::string> sources;
  for (const int split : {2, 4, 8}) {
    const Config config = splitting.with(split);
    const Source source = splitting.source(config);
    sources.insert(source.hash);
    EXPECT_THAT(source.text, HasSubstr("constexpr int SPLIT = 0;"));
    EXPECT_THAT(source.text, Not(HasSubstr("SPLIT="))) << "the first line names what the source depends on";
    EXPECT_EQ(hashes.hash(splitting.named(), splitting.problem, config, splitting.plan(config), 90), source.hash);
  }
  EXPECT_EQ(sources.size(), 1U);
  const Source whole = splitting.source(splitting.with(1));
  EXPECT_THAT(sources, Not(Contains(whole.hash))) << "which has no partial sums";
  EXPECT_THAT(whole.text, HasSubstr("constexpr int SPLIT = 1;"));
}

TEST_P(Split, TheLaunchSaysHowManyPartsThereAre) {
  const Splitting& splitting = GetParam();
  for (const int split : {2, 8}) {
    const LaunchPlan plan = splitting.plan(splitting.with(split));
    const LaunchStep& reduce = plan.steps.back();
    EXPECT_EQ(reduce.kernel, "reduce");
    EXPECT_EQ(reduce.args.back(), Arg::number(split));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Split,
                         testing::Values(Splitting{"simt", Precision::fp32, ""},
                                         Splitting{"mma_sync", Precision::fp16, ""},
                                         Splitting{"mma_fp16x3", Precision::fp32_emulated, ""},
                                         Splitting{"wgmma", Precision::bf16, "BM=64 BN=64 CONSUMERS=1"},
                                         Splitting{"wgmma_fp16x3", Precision::fp32_emulated, "BM=64 BN=64 CONSUMERS=1"},
                                         Splitting{"wgmma_bf16x3", Precision::bf16_x_fp32, "BM=64 BN=64 CONSUMERS=1"},
                                         Splitting{"skinny", Precision::fp32, ""}),
                         [](const auto& instance) { return std::string(instance.param.family); });

TEST(SplitOfACluster, IsInTheProgram) {
  const Splitting simt{"simt", Precision::fp32, ""};
  const Source four = simt.source(simt.with(4, "REDUCE=1"));
  EXPECT_THAT(four.text, HasSubstr("constexpr int SPLIT = 4;"));
  EXPECT_NE(four.hash, simt.source(simt.with(8, "REDUCE=1")).hash);
}

}  // namespace
}  // namespace mmtune
