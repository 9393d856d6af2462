#include "templates/family/launches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "templates/family/families.h"
#include "templates/family/render.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {
namespace {

std::string source_hash(const Family& family, const Config& config, const Problem& problem, const DeviceSpec& device) {
  return render(TemplateFiles::embedded(), family, problem, config, family.plan(problem, config, device), 90).hash;
}

TEST(Launches, OfOtherClustersAreAllThatTheSameProgramHasWithTheSameWalk) {
  const DeviceSpec device = catalog_gpu("h100");
  const Problem problem = packed_problem(Precision::bf16, Layout::nn, 1024, 1024, 1024);
  const Family& family = family_named("wgmma");
  const auto configured = [&](int m, int n, const std::string& rest) {
    const std::string text = "CLUSTER_M=" + std::to_string(m) + " CLUSTER_N=" + std::to_string(n) + " " + rest;
    return family.with_defaults(Config::parse(text), problem);
  };
  for (const std::string rest : {"GROUP=4", "BM=88 BN=64 CONSUMERS=1 SWAP=1 GROUP=1", "SPLIT=4 GROUP=8",
                                 "BM=192 BN=192 CONSUMERS=3", "SPLIT=4 REDUCE=1"}) {
    for (const int m : {1, 2, 4}) {
      for (const int n : {1, 2, 4}) {
        const Config config = configured(m, n, rest);
        if (!family.legal_plan(problem, config, device)) continue;
        std::set<std::string> others;
        for (const Config& other : with_other_clusters(family, config, problem, device)) others.insert(other.text());
        std::set<std::string> expected;
        for (const int other_m : {1, 2, 4}) {
          for (const int other_n : {1, 2, 4}) {
            const Config other = configured(other_m, other_n, rest);
            if (other == config || !family.legal_plan(problem, other, device)) continue;
            const bool is_one_program =
                source_hash(family, other, problem, device) == source_hash(family, config, problem, device);
            if (is_one_program) expected.insert(other.text());
          }
        }
        EXPECT_EQ(others, expected) << config.text();
        EXPECT_EQ(others.empty(), m * n == 1) << config.text();
      }
    }
  }
}

TEST(Launches, OfOtherClustersAreNoneWhereTheProgramSaysThem) {
  const DeviceSpec device = catalog_gpu("h100");
  const Problem problem = packed_problem(Precision::bf16, Layout::nn, 1024, 1024, 1024);
  for (const Family* family : families()) {
    const Config config = family->default_config(problem);
    EXPECT_TRUE(with_other_clusters(*family, config, problem, device).empty()) << family->name();
  }
}

}  // namespace
}  // namespace mmtune
