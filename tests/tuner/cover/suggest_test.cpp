#include "tuner/cover/suggest.h"

#include <gmock/gmock.h>

#include <set>
#include <utility>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/cover/hold_out.h"

namespace mmtune {
namespace {

using test::fp32;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::shared_ptr<const StoredKernel> kernel(const std::string& settings) {
  const Family& family = family_named("simt");
  const Problem problem = fp32(1024, 1024, 1024);
  const Config config = family.complete(family.parse(settings), problem, catalog_gpu("h200"));
  return std::make_shared<const StoredKernel>(StoredKernel{&family, config, "code of " + settings, 64});
}

/// Two kernels, each of which was measured at all sizes; the second takes half as long at those with n = 512.
StoredKernels two_kernels(const std::vector<Problem>& sizes) {
  const auto first = kernel("BM=64 BN=64");
  const auto second = kernel("BM=64 BN=128");
  StoredKernels kernels;
  for (const Problem& size : sizes) {
    const bool is_second = size.n == 512;
    kernels.winners.push_back({size, is_second ? second : first, 100, true});
    kernels.times.push_back({size, is_second ? first : second, 200, true});
  }
  return kernels;
}

TEST(HoldOut, TheTimeIsThatOfTheKernelThatIsChosenWithoutTheSize) {
  // Alone among sizes where the first kernel is faster, one is the second kernel's.
  std::vector<Problem> sizes;
  for (const std::int64_t m : {256, 384, 512, 640, 768, 896, 1024, 1152, 1280}) sizes.push_back(fp32(m, 768, 1024));
  sizes.push_back(fp32(832, 512, 1024));
  const auto held_out = hold_out(catalog_gpu("h200"), two_kernels(sizes));
  ASSERT_THAT(held_out, SizeIs(sizes.size()));
  for (const HeldOut& each : held_out) {
    EXPECT_EQ(each.decided_us, 100);
    EXPECT_EQ(each.us, each.problem.n == 512 ? 200 : 100) << to_string(each.problem);
  }
}

TEST(HoldOut, WithoutDecisionsThereIsNothing) { EXPECT_THAT(hold_out(catalog_gpu("h200"), {}), IsEmpty()); }

TEST(Suggest, SizesFarFromAllDecisionsComeFirst) {
  std::vector<Problem> sizes;
  for (const std::int64_t m : {512, 768, 1024, 1280}) {
    for (const std::int64_t n : {512, 768}) sizes.push_back(fp32(m, n, 1024));
  }
  const std::vector<AskedProblem> asked{{fp32(520, 768, 1024)}, {fp32(520, 768, 4096)}, {fp32(768, 768, 1024)}};
  const auto suggestions = suggest(catalog_gpu("h200"), two_kernels(sizes), asked, 9);
  ASSERT_THAT(suggestions, SizeIs(2)) << "one is tuned";
  EXPECT_EQ(suggestions[0].problem, asked[1].problem);
  EXPECT_GT(suggestions[0].loss, suggestions[1].loss);
  EXPECT_GT(suggestions[0].gain, suggestions[1].gain);
  EXPECT_LE(suggestions[0].gain + suggestions[1].gain, 1 + 1e-9);
}

TEST(Suggest, OneOfManyAlikeTakesTheLossOfAllAway) {
  const std::vector<AskedProblem> asked{
      {fp32(8000, 8000, 64)}, {fp32(100, 104, 4096)}, {fp32(104, 104, 4000)}, {fp32(104, 96, 4096)}};
  const auto suggestions = suggest(catalog_gpu("h200"), {}, asked, 2);
  ASSERT_THAT(suggestions, SizeIs(2));
  EXPECT_LT(suggestions[0].problem.m, 1000) << "three of them are alike";
  EXPECT_GT(suggestions[0].gain, 0.7);
  EXPECT_EQ(suggestions[1].problem.m, 8000);
  EXPECT_EQ(suggestions[0].match, Match::fallback);
}

TEST(Suggest, NoSizeIsNamedTwice) {
  // Each of these teaches all others nearly everything: what is left of their losses is least far from the middle.
  std::vector<AskedProblem> asked;
  for (const std::int64_t m : {48, 49, 50}) {
    for (const std::int64_t n : {48, 49, 50}) asked.push_back({fp32(m, n, 49)});
  }
  std::set<std::pair<std::int64_t, std::int64_t>> named;
  for (const Suggestion& each : suggest(catalog_gpu("t4"), {}, asked, 5)) {
    EXPECT_TRUE(named.emplace(each.problem.m, each.problem.n).second) << to_string(each.problem);
  }
  EXPECT_THAT(named, SizeIs(5));
}

TEST(Suggest, WeightsSayWhatMatters) {
  const std::vector<AskedProblem> asked{{fp32(8000, 8000, 64), 10}, {fp32(100, 104, 4096)}, {fp32(104, 104, 4000)}};
  EXPECT_EQ(suggest(catalog_gpu("h200"), {}, asked, 1).front().problem, asked[0].problem);
}

class SuggestCli : public Cli {};

TEST_F(SuggestCli, PrintsSizesToTune) {
  ASSERT_EQ(mmtune("tune --device model:h200 --sizes 256,512 --family naive --only 'BX=32 BY=8 COARSE=1'").code, 0);
  const Result result = mmtune("suggest --device model:h200 --sizes 64..4096 --count 3 --format csv");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("precision,layout,m,n,k,match,expected_us,loss,gain\n"));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 4);
  EXPECT_EQ(mmtune("suggest --device model:h200 --sizes 64").code, 2);
}

}  // namespace
}  // namespace mmtune
