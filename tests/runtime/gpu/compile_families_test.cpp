// Every family compiles without a warning for every kind of GPU that the project serves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/problem/dtype.h"
#include "tests/random_config.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

// sm_75, 80, 86, 89, 90a, 100a, 120a.
constexpr std::string_view kGpus[] = {"t4", "a100", "rtx3090", "rtx4090", "h200", "b200", "rtx5090"};
constexpr int kRandomCases = 15;  // random cases of each family, or as many as are legal among the draws below
constexpr int kDraws = 20000;

struct Compile {
  const Family* family;
  Problem problem;
  Config config;
  const DeviceSpec* gpu;
  Fusion fusion = {};

  std::string text() const {
    return fmt::format("{} {} for {} on {} {}", family->name(), config.text(), to_string(problem), gpu->name,
                       to_string(fusion));
  }
};

/// A large product, or one with few rows for a family that is not worth trying for others: it would unroll more than it
/// ever does.
Problem typical(const Family& family, Precision precision, Layout layout) {
  const Problem large = packed_problem(precision, layout, 1024, 1024, 1024);
  const bool serves = family.judge(large, family.default_config(large), catalog_gpu("h200")).searched();
  return serves ? large : packed_problem(precision, layout, 4, 1024, 1024);
}

/// The default configuration for every precision and layout, each on two GPUs, so that every GPU meets every precision
/// and every layout.
void add_defaults(const Family& family, std::vector<Compile>& cases) {
  for (std::size_t layout = 0; layout < kAllLayouts.size(); ++layout) {
    for (std::size_t precision = 0; precision < kAllPrecisions.size(); ++precision) {
      for (const std::size_t gpu : {layout + precision, layout + precision + kAllLayouts.size()}) {
        const Problem problem = typical(family, kAllPrecisions[precision], kAllLayouts[layout]);
        const DeviceSpec& device = catalog_gpu(kGpus[gpu % std::size(kGpus)]);
        const Config config = family.default_config(problem);
        if (family.broken_rule(problem, config, device).empty()) cases.push_back({&family, problem, config, &device});
      }
    }
  }
}

/// Some of these with every activation, the bias either way.
void add_epilogues(const Family& family, std::vector<Compile>& cases) {
  std::vector<Compile> defaults;
  add_defaults(family, defaults);
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    Compile each = defaults[i];
    const bool is_integer = traits(each.problem.precision).c.integer;
    each.fusion.bias = i % 2 == 0 ? Bias::per_row : Bias::per_column;
    each.fusion.activation = i / 2 % 2 == 0 && !is_integer ? Activation::gelu : Activation::relu;
    each.fusion.loads_scalars = i % 4 == 0;
    each.fusion.batched = i % 6 == 0;
    if (i % 3 == 0) cases.push_back(each);
  }
}

/// Some of these for a batch.
void add_batches(const Family& family, std::vector<Compile>& cases) {
  std::vector<Compile> defaults;
  add_defaults(family, defaults);
  for (std::size_t i = 0; i < defaults.size(); i += 5) {
    cases.push_back(defaults[i]);
    cases.back().fusion.batched = true;
  }
}

/// Random legal configurations, for well and for badly aligned operands; every other one for a batch, where it can be.
void add_random(const Family& family, std::vector<Compile>& cases) {
  std::mt19937 random(1);
  int found = 0;
  for (int draw = 0; draw < kDraws && found < kRandomCases; ++draw) {
    const Problem problem = test::random_problem(random);
    const Config config = test::random_config(family, random);
    Compile candidate{&family, problem, config, &catalog_gpu(kGpus[random() % std::size(kGpus)])};
    if (!family.broken_rule(problem, candidate.config, *candidate.gpu).empty()) continue;
    const bool can_batch = why_unbatched(family.plan(problem, candidate.config, *candidate.gpu)).empty();
    candidate.fusion.batched = can_batch && found % 2 == 0;
    cases.push_back(candidate);
    ++found;
  }
}

class CompileFamilies : public test::NvrtcTest, public testing::WithParamInterface<const Family*> {
 protected:
  /// What is wrong with a case, or nothing.
  std::string complaint(const Compile& c, CompileFor what) const {
    const CompileTarget target = compile_target(*c.gpu, nvrtc_->supported());
    const Nvrtc& nvrtc = what == CompileFor::speed ? *nvrtc_ : nvrtc_that_checks(c.family->name(), target);
    const TemplateFiles& files = TemplateFiles::embedded();
    const LaunchPlan plan = c.family->plan(c.problem, c.config, *c.gpu);
    const Source source = render(files, *c.family, c.problem, c.config, plan, target.compute_capability, c.fusion);
    const Compilation compilation = nvrtc.compile(source, files, target);
    const bool clean = compilation.ok() && compilation.log.find("warning") == std::string::npos;
    return clean ? "" : fmt::format("{}\n{}", c.text(), compilation.log);
  }

  /// All complaints, found by as many threads as there are cores.
  std::vector<std::string> complaints(const std::vector<Compile>& cases, CompileFor what) const {
    std::vector<std::string> found;
    std::mutex mutex;
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < cases.size(); i = next++) {
        std::string text = complaint(cases[i], what);
        const std::lock_guard lock(mutex);
        if (!text.empty()) found.push_back(std::move(text));
      }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    return found;
  }
};

INSTANTIATE_TEST_SUITE_P(Registered, CompileFamilies, testing::ValuesIn(families()),
                         [](const auto& instance) { return std::string(instance.param->name()); });

TEST_P(CompileFamilies, DefaultsForAllPrecisionsLayoutsAndTargets) {
  std::vector<Compile> cases;
  add_defaults(*GetParam(), cases);
  EXPECT_FALSE(cases.empty());
  for (const std::string& text : complaints(cases, CompileFor::diagnosis)) ADD_FAILURE() << text;
}

TEST_P(CompileFamilies, DefaultsWithEpilogues) {
  std::vector<Compile> cases;
  add_epilogues(*GetParam(), cases);
  EXPECT_FALSE(cases.empty());
  for (const std::string& text : complaints(cases, CompileFor::diagnosis)) ADD_FAILURE() << text;
}

TEST_P(CompileFamilies, DefaultsForBatches) {
  std::vector<Compile> cases;
  add_batches(*GetParam(), cases);
  EXPECT_FALSE(cases.empty());
  for (const std::string& text : complaints(cases, CompileFor::diagnosis)) ADD_FAILURE() << text;
}

// With tiles as small as they can be, operands of 2 and of 4 bytes: host and kernel must agree where the second begins.
TEST_P(CompileFamilies, LeastTilesOfOperandsOfDifferentWidth) {
  const Problem problem = packed_problem(Precision::bf16_x_fp32, Layout::nn, 64, 64, 64);
  std::vector<Setting> settings;
  for (const ParamInfo& param : GetParam()->params())
    settings.push_back({std::string(param.name), param.values.front()});
  const Compile least{GetParam(), problem, Config(std::move(settings)), &catalog_gpu("h200")};
  if (!GetParam()->broken_rule(problem, least.config, *least.gpu).empty()) return;
  EXPECT_EQ(complaint(least, CompileFor::diagnosis), "");
}

TEST_P(CompileFamilies, RandomConfigurations) {
  std::vector<Compile> cases;
  add_random(*GetParam(), cases);
  EXPECT_FALSE(cases.empty());
  for (const std::string& text : complaints(cases, CompileFor::speed)) ADD_FAILURE() << text;
}

}  // namespace
}  // namespace mmtune
