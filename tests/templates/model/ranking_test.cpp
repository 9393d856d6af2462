// The enumeration that passes over branches must find exactly what looking at every configuration finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"
#include "templates/space/space.h"
#include "tests/templates/family/toy_family.h"

namespace mmtune {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

struct Found {
  std::string config;
  double predicted_us;

  friend bool operator==(const Found&, const Found&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Found& found) {
    return out << found.config << ": " << found.predicted_us;
  }
};

/// Asks for every configuration of the product by itself.
struct Plain {
  std::vector<Found> ranked;
  SpaceCount count;

  Plain(const Family& family, const Problem& problem, const DeviceSpec& device, const SearchSpace& space) {
    for (std::int64_t number = 0; number < space.size(); ++number) {
      const Config config = space.config(number);
      const Rules rules = family.judge(problem, config, device);
      ++count.total;
      if (!rules.searched()) {
        ++(rules.reason() == rules.broken() ? count.removed : count.not_worth)[rules.reason()];
        continue;
      }
      ++count.searched;
      const LaunchPlan plan = family.plan(problem, config, device);
      ranked.push_back({config.text(), predict(problem, plan, device, plan.work.registers).time_us});
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Found& x, const Found& y) { return x.predicted_us < y.predicted_us; });
  }
};

std::vector<Found> ranked(const SearchSpace& space, std::size_t limit) {
  std::vector<Found> found;
  for (const RankedConfig& ranked : space.ranked(limit)) {
    found.push_back({space.config(ranked.number).text(), ranked.predicted_us});
  }
  return found;
}

void expect_plain(const Family& family, const Problem& problem, const DeviceSpec& device,
                  const Restriction& restriction = {}) {
  SCOPED_TRACE(std::string(family.name()) + " " + to_string(problem) + " " + device.name);
  const SearchSpace space(family, problem, device, restriction);
  const Plain plain(family, problem, device, space);
  EXPECT_EQ(ranked(space, kAll), plain.ranked);
  for (const std::size_t limit : {0, 1, 7, 100}) {
    const std::size_t most = std::min(limit, plain.ranked.size());
    EXPECT_EQ(ranked(space, limit), std::vector<Found>(plain.ranked.begin(), plain.ranked.begin() + most)) << limit;
  }
  const SpaceCount count = space.count();
  EXPECT_EQ(count.total, plain.count.total);
  EXPECT_EQ(count.searched, plain.count.searched);
  EXPECT_EQ(count.removed, plain.count.removed);
  EXPECT_EQ(count.not_worth, plain.count.not_worth);
}

/// Values that leave a family a few thousand configurations, of every kind; they restrict no parameter to one value.
const Restriction kSome = parse_restriction(
    "BM=32,128,256 BN=64,128 BK=8,32 TM=4,16 TN=8,16 STAGES=2,4 ORDER=0,2 MIN_BLOCKS=1,4 SPLIT=1,4,16 FEW=1,16 "
    "WARPS=4,16 WARPS_K=1,16");

TEST(Ranking, IsThatOfPlainEnumeration) {
  for (const Family* family : families()) {
    for (const Layout layout : {Layout::nn, Layout::tn}) {
      expect_plain(*family, packed_problem(Precision::fp32, layout, 512, 500, 1024), catalog_gpu("h200"), kSome);
    }
    expect_plain(*family, packed_problem(Precision::fp32, Layout::nt, 4096, 4096, 4096), catalog_gpu("h200"), kSome);
    expect_plain(*family, packed_problem(Precision::fp64, Layout::nn, 16, 4096, 333), catalog_gpu("k20c"), kSome);
    expect_plain(*family, packed_problem(Precision::fp16, Layout::nt, 2000, 3, 2000), catalog_gpu("l4"), kSome);
  }
}

/// The plan looks at parameters that no rule asks for, and at B only sometimes.
struct Shifty {
  struct Params {
    Param a{0}, b{0}, c{0}, d{0};
  };
  static constexpr std::string_view kName = "shifty";
  static constexpr std::string_view kSummary = "for tests";
  static const ParamTable<Params>& table() {
    static const std::vector<ParamValue> values = {0, 1, 2, 3};
    static const ParamTable<Params> rows = {{"A", &Params::a, values, ""},
                                            {"B", &Params::b, values, ""},
                                            {"C", &Params::c, values, ""},
                                            {"D", &Params::d, values, ""}};
    return rows;
  }
  static void rules(const Problem&, const Params& p, const DeviceSpec&, Rules& rules) {
    rules.must(p.d != 1, "D is not 1");
    rules.worth(p.d != 0 || p.a < 3, "A is small if D is zero");
    rules.must(p.d != 3 || p.c > 0, "C is positive if D is three");
  }
  static LaunchPlan plan(const Problem&, const Params& p, const DeviceSpec&) {
    LaunchPlan plan;
    plan.steps.resize(1);
    plan.steps[0].block.x = 32 * (1 + p.c);
    if (p.c == 2) plan.steps[0].smem_bytes = p.b * 100000;  // more than an SM has, where B is three
    plan.work.tile_m = 8 << (p.c == 1 ? int{p.a} : 0);
    return plan;
  }
};

TEST(Ranking, FollowsWhatPlansReadToo) {
  const FamilyOf<Shifty> family;
  expect_plain(family, packed_problem(Precision::fp32, Layout::nn, 64, 64, 64), catalog_gpu("h200"));
}

TEST(Ranking, LooksOnlyAtWhatRulesTellApart) {
  static int looks = 0;
  struct Counting : test::Toy {
    static void rules(const Problem&, const Params& p, const DeviceSpec&, Rules& rules) {
      ++looks;
      rules.must(p.bm == 16, "BM is 16");
      rules.must(p.bn > 0, "BN is positive");
    }
  };
  const FamilyOf<Counting> family;
  SearchSpace(family, packed_problem(Precision::fp32, Layout::nn, 64, 64, 64), catalog_gpu("h200")).count();
  EXPECT_EQ(looks, 4 * 2 + 4 * 2) << "two of three values of BM end all four branches of two configurations each";
}

}  // namespace
}  // namespace mmtune
