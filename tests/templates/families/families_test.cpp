// What holds for every registered family.
#include "templates/family/families.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "templates/base/parsed_number.h"
#include "templates/family/render.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/problem/tiling.h"
#include "templates/space/space.h"
#include "tests/random_config.h"

namespace mmtune {
namespace {

using test::random_config;

using ::testing::IsSupersetOf;

/// Every precision and layout in square, flat, tall, tiny and large shapes, with extents that no tile divides.
std::vector<Problem> many_problems() {
  constexpr std::int64_t kShapes[][3] = {{1, 1, 1},         {7, 5, 3},        {1024, 1024, 1024}, {1000, 1, 4096},
                                         {1, 1000, 4096},   {4095, 33, 1000}, {33, 4097, 17},     {8192, 8192, 8192},
                                         {70000, 70001, 9}, {31, 65, 1000000}};
  std::vector<Problem> problems;
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      for (const auto& [m, n, k] : kShapes) problems.push_back(packed_problem(precision, layout, m, n, k));
    }
  }
  return problems;
}

/// The catalogue's GPUs that current compilers serve.
std::vector<DeviceSpec> current_gpus() {
  std::vector<DeviceSpec> gpus;
  for (const CatalogEntry& entry : gpu_catalog()) {
    if (compute_capability(entry.spec) >= 75) gpus.push_back(entry.spec);
  }
  return gpus;
}

class EveryFamily : public ::testing::TestWithParam<const Family*> {
 protected:
  const Family& family() const { return *GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Registered, EveryFamily, ::testing::ValuesIn(families()),
                         [](const auto& instance) { return std::string(instance.param->name()); });

/// The parameters of all kernels in a source, without what stands in PerProduct<>.
std::vector<std::string> parameters_of_kernels(std::string_view source) {
  constexpr std::string_view kKernel = "extern \"C\" __global__", kWrapper = "PerProduct<";
  std::vector<std::string> found;
  for (std::size_t at = source.find(kKernel); at != source.npos; at = source.find(kKernel, at + 1)) {
    std::string parameters(source.substr(at, source.find(") {", at) - at));
    for (std::size_t wrapper = parameters.find(kWrapper); wrapper != parameters.npos;
         wrapper = parameters.find(kWrapper)) {
      parameters.erase(wrapper, parameters.find('>', wrapper) + 1 - wrapper);
    }
    found.push_back(std::move(parameters));
  }
  return found;
}

TEST_P(EveryFamily, TakesAddressesAndMapsOfTheBlocksOwnProduct) {
  const std::string file = fmt::format("templates/families/{}/kernel.cu", family().name());
  const auto kernels = parameters_of_kernels(TemplateFiles::embedded().text(file));
  EXPECT_FALSE(kernels.empty());
  for (const std::string& parameters : kernels) {
    EXPECT_EQ(parameters.find('*'), parameters.npos) << parameters << ": PerProduct<> of mmtune/batch.cuh";
    EXPECT_EQ(parameters.find("TensorMap"), parameters.npos) << parameters << ": ProductMap of mmtune/batch_map.cuh";
  }
}

TEST_P(EveryFamily, HasDistinctAscendingValues) {
  std::vector<std::string_view> names;
  for (const ParamInfo& param : family().params()) {
    EXPECT_FALSE(param.values.empty()) << param.name;
    EXPECT_FALSE(param.help.empty()) << param.name;
    EXPECT_EQ(std::adjacent_find(param.values.begin(), param.values.end(), std::greater_equal<>()), param.values.end())
        << param.name;
    names.push_back(param.name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST_P(EveryFamily, NamesAllValuesOfAParameterOrNone) {
  for (const ParamInfo& param : family().params()) {
    if (param.names.empty()) continue;
    ASSERT_EQ(param.names.size(), param.values.size()) << param.name;
    for (std::size_t i = 0; i < param.names.size(); ++i) {
      EXPECT_EQ(parsed_number<int>(param.names[i]), std::nullopt) << param.name << " has a name that is a number";
      EXPECT_EQ(param.names[i].find_first_of(" \t\n,="), std::string_view::npos) << param.name << '=' << param.names[i];
      EXPECT_EQ(param.value_of(param.names[i]), param.values[i]) << param.name << " has one name twice";
    }
  }
}

TEST(Families, AgreeOnTheNamesOfAParametersValues) {
  std::map<std::pair<std::string_view, std::string_view>, int> known;
  for (const Family* family : families()) {
    for (const ParamInfo& param : family->params()) {
      for (std::size_t i = 0; i < param.names.size(); ++i) {
        const auto [same, is_new] = known.emplace(std::pair(param.name, param.names[i]), param.values[i]);
        EXPECT_EQ(same->second, param.values[i]) << "--only " << param.name << '=' << param.names[i] << " is unclear";
      }
    }
  }
}

/// A library runs what was compiled for one size at others, so that only the operands' alignment may be in the code.
TEST_P(EveryFamily, MakesOneProgramForAllExtents) {
  constexpr std::int64_t kExtents[] = {1, 7, 16, 33, 48, 64, 72, 128, 1001, 1024, 1040, 3000, 4096, 8192};
  const DeviceSpec& device = catalog_gpu("h200");
  std::mt19937 random(4);
  const auto any = [&] { return kExtents[random() % std::size(kExtents)]; };
  const auto any_like = [&](const Problem& of) { return packed_problem(of.precision, of.layout, any(), any(), any()); };
  const auto program = [&](const Problem& problem, const Config& config) {
    const auto plan = family().legal_plan(problem, config, device);
    return plan ? render(TemplateFiles::embedded(), family(), problem, config, *plan, 90).text : "";
  };
  int compared = 0;
  for (int i = 0; i < 120000 && compared < 400; ++i) {
    const Config config = random_config(family(), random);
    const Problem some = any_like(test::random_problem(random));
    Problem other = any_like(some);
    other.align = some.align;
    const std::string one = program(some, config), another = one.empty() ? one : program(other, config);
    if (another.empty()) continue;
    EXPECT_EQ(one, another) << to_string(some) << " and " << to_string(other);
    ++compared;
  }
  EXPECT_GE(compared, 100);
}

TEST_P(EveryFamily, WhatIsProvenIsStillTried) {
  const DeviceSpec& device = catalog_gpu("h200");
  for (const Proven& each : family().proven()) {
    std::string reasons;  // nothing says in which layout it won
    for (const Layout layout : kAllLayouts) {
      const Problem problem = packed_problem(each.precision, layout, each.m, each.n, each.k);
      const Config config = family().with_defaults(Config::parse(each.config), problem);
      const auto reason = family().judge(problem, config, device).reason();
      if (reason.empty()) {
        reasons.clear();
        break;
      }
      reasons += fmt::format("{}: {}; ", to_string(problem), reason);
    }
    EXPECT_EQ(reasons, "") << each.config;
  }
}

TEST_P(EveryFamily, DefaultIsLegalWhereverAnythingIs) {
  std::mt19937 random(1);
  for (const DeviceSpec& gpu : current_gpus()) {
    for (const Problem& problem : many_problems()) {
      const Config config = family().default_config(problem);
      EXPECT_EQ(family().with_defaults(config, problem), config);
      const std::string_view rule = family().broken_rule(problem, config, gpu);
      for (int draw = 0; draw < 50 && !rule.empty(); ++draw) {
        const Config other = random_config(family(), random);
        ASSERT_NE(family().broken_rule(problem, other, gpu), "")
            << to_string(problem) << " on " << gpu.name << ": " << other.text()
            << " is legal, the default is not: must hold: " << rule;
      }
    }
  }
}

TEST(Families, SimpleOnesServeEverything) {
  for (const std::string_view name : {"naive", "reference", "tiled", "tiled_coarsened"}) {
    const Family& family = family_named(name);
    for (const CatalogEntry& entry : gpu_catalog()) {
      for (const Problem& problem : many_problems()) {
        EXPECT_EQ(family.broken_rule(problem, family.default_config(problem), entry.spec), "")
            << name << ": " << to_string(problem) << " on " << entry.spec.name;
      }
    }
  }
}

TEST_P(EveryFamily, GridCoversC) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  std::mt19937 random(1);
  for (const Problem& problem : many_problems()) {
    for (int draw = 0; draw < 100; ++draw) {
      const Config config = random_config(family(), random);
      if (!family().broken_rule(problem, config, gpu).empty()) continue;
      const LaunchPlan plan = family().plan(problem, config, gpu);
      const std::int64_t tiles = tiles_of_c(problem, plan.work.tile_m, plan.work.tile_n);
      const int* const min_blocks = config.find("MIN_BLOCKS");
      const std::int64_t resident = (min_blocks != nullptr ? *min_blocks : 1) * gpu.sm_count;
      if (plan.work.persistent) {
        EXPECT_LE(main_step(plan).grid.x, resident) << to_string(problem) << ": " << config.text();
        EXPECT_LE(main_step(plan).grid.x, cluster_blocks(main_step(plan)) * tiles * plan.work.split_k);
        EXPECT_EQ(main_step(plan).grid.x % cluster_blocks(main_step(plan)), 0);
        continue;
      }
      // Resident blocks go on to further tiles.
      const std::int64_t blocks = main_step(plan).resident ? resident : tiles * plan.work.split_k;
      EXPECT_EQ(main_step(plan).grid.x * main_step(plan).grid.y, blocks) << to_string(problem) << ": " << config.text();
    }
  }
}

TEST_P(EveryFamily, PlansHaveNoFault) {
  std::mt19937 random(2);
  for (const DeviceSpec& gpu : current_gpus()) {
    int plans = 0;
    for (Problem problem : many_problems()) {
      for (const std::int64_t k : {problem.k, std::int64_t{0}}) {
        problem.k = k;
        for (int draw = 0; draw < 40; ++draw) {
          const Config config = random_config(family(), random);
          const auto plan = family().legal_plan(problem, config, gpu);
          EXPECT_EQ(plan.has_value(), family().broken_rule(problem, config, gpu).empty());
          if (!plan) continue;
          ASSERT_EQ(plan_fault(*plan), "") << to_string(problem) << ": " << config.text();
          ++plans;
        }
      }
    }
    const std::vector<Problem> problems = many_problems();
    const bool serves = std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
      return family().broken_rule(problem, family().default_config(problem), gpu).empty();
    });
    EXPECT_EQ(plans > 0, serves) << gpu.name;
  }
}

TEST_P(EveryFamily, ListsEachReasonForWhichASpaceLeavesOutConfigurations) {
  const DeviceSpec& listed_for = catalog_gpu("h200");
  const std::vector<RuleInfo> rules =
      family().all_rules(packed_problem(Precision::fp32, Layout::nn, 64, 64, 64), listed_for);
  const auto expect_listed = [&](const auto& reasons, bool is_must) {
    for (const auto& [sentence, configurations] : reasons) {
      EXPECT_THAT(rules, ::testing::Contains(RuleInfo{is_must, sentence})) << sentence << ", of " << configurations;
    }
  };
  for (const char* gpu : {"h200", "k20c"}) {
    const Problem problem = packed_problem(Precision::fp16, Layout::nt, 33, 4097, 1000);
    const SpaceCount count = SearchSpace(family(), problem, catalog_gpu(gpu)).count();
    expect_listed(count.removed, true);
    expect_listed(count.not_worth, false);
  }
}

TEST_P(EveryFamily, BlockDependsOnTheConfigurationAlone) {
  const DeviceSpec& gpu = catalog_gpu("h200");
  const Problem small = packed_problem(Precision::fp32, Layout::nt, 8, 8, 8);
  const Problem large = packed_problem(Precision::fp32, Layout::nt, 8192, 4096, 2048);
  const Config config = family().default_config(small);
  const LaunchStep one = main_step(family().plan(small, config, gpu));
  const LaunchStep other = main_step(family().plan(large, config, gpu));
  EXPECT_EQ(one.block, other.block);
  EXPECT_EQ(one.smem_bytes, other.smem_bytes);
}

TEST_P(EveryFamily, OverlapsAllStepsOrNoneAndNoneOfOldGpus) {
  std::mt19937 random(3);
  for (const DeviceSpec& gpu : current_gpus()) {
    for (const Problem& problem : many_problems()) {
      const Config config = random_config(family(), random);
      if (!family().broken_rule(problem, config, gpu).empty()) continue;
      const LaunchPlan plan = family().plan(problem, config, gpu);
      for (const LaunchStep& step : plan.steps) {
        EXPECT_EQ(step.overlaps_previous, plan.steps.front().overlaps_previous) << config.text();
        EXPECT_TRUE(!step.overlaps_previous || compute_capability(gpu) >= 90) << gpu.name << ' ' << config.text();
      }
    }
  }
}

TEST(Families, OverlapWhatComesBeforeWhereTheGpuCan) {
  const auto overlapping = [](const char* family, const char* config, const char* gpu) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nt, 256, 256, 4096);
    const Family& of = family_named(family);
    std::string text;
    for (const LaunchStep& step :
         of.plan(problem, of.with_defaults(of.parse(config), problem), catalog_gpu(gpu)).steps) {
      text += step.kernel + (step.overlaps_previous ? "+ " : " ");
    }
    return text;
  };
  EXPECT_EQ(overlapping("simt", "", "h200"), "gemm+ ");
  EXPECT_EQ(overlapping("simt", "LOAD=2 PACK=1 SPLIT=4", "h200"), "pack+ gemm_tma+ reduce+ ");
  EXPECT_EQ(overlapping("simt", "LOAD=1 PACK=1 SPLIT=4", "a100"), "pack gemm reduce ");
  EXPECT_EQ(overlapping("simt", "PACK=1 SPLIT=4 REDUCE=1", "h200"), "pack+ gemm+ ");
  EXPECT_EQ(overlapping("simt", "STREAM=1", "h200"), "prepare+ gemm+ ");
  EXPECT_EQ(overlapping("simt", "STREAM=1", "a100"), "prepare gemm ");
  EXPECT_EQ(overlapping("skinny", "SPLIT=2", "h200"), "gemm+ reduce+ ");
  EXPECT_EQ(overlapping("skinny", "SPLIT=2", "a100"), "gemm reduce ");
}

TEST(Families, KeepTheirNames) {
  std::vector<std::string_view> names;
  for (const Family* family : families()) names.push_back(family->name());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(names, IsSupersetOf({"naive", "reference", "simt", "tiled", "tiled_coarsened"}));
}

TEST(Families, OnlyTheReferenceDoesNotCompete) {
  for (const Family* family : families()) EXPECT_EQ(family->competes(), family->name() != "reference");
}

}  // namespace
}  // namespace mmtune
