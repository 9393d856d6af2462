// Every family compiles without a warning for every kind of GPU that the project serves. And the first step of a plan
// that overlaps what precedes it on the stream touches no global memory before it has waited: not in the source, which
// the simulated machine checks, and not in what compilers make of it. Tests named Thorough compile several times as
// many configurations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <ostream>
#include <random>
#include <string_view>
#include <thread>
#include <tuple>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/problem/dtype.h"
#include "tests/random_config.h"
#include "tests/runtime/gpu/machine_instruction.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

using test::MachineInstruction;

// sm_75, 80, 86, 89, 90a, 100a, 120a.
constexpr std::string_view kGpus[] = {"t4", "a100", "rtx3090", "rtx4090", "h200", "b200", "rtx5090"};
constexpr int kDraws = 20000;
constexpr std::string_view kReadGpu = "h200";

struct Compile {
  const Family* family;
  Problem problem;
  Config config;
  const DeviceSpec* gpu;
  Fusion fusion = {};

  LaunchPlan plan() const { return family->plan(problem, config, *gpu); }
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

/// The parts of a product that a default configuration has besides, in turn: a batch, or an epilogue with every
/// activation and the bias either way.
Fusion fusion_in_turn(std::size_t turn, bool is_integer) {
  Fusion fusion;
  fusion.batched = turn % 3 == 2 || turn % 6 == 0;
  if (turn % 3 == 2) return fusion;
  fusion.bias = turn % 2 == 0 ? Bias::per_row : Bias::per_column;
  fusion.activation = turn / 2 % 2 == 0 && !is_integer ? Activation::gelu : Activation::relu;
  fusion.loads_scalars = turn % 4 == 0;
  return fusion;
}

/// How much is compiled for a family.
struct Amount {
  const Family* family;
  bool all_defaults;  ///< whether defaults are compiled for every precision, layout and target, or for a few
  /// Random cases, and those of them that overlap on the GPU whose machine code is looked at; or as many as are legal
  /// among the draws. Fewer show a first step that only prepares operands, since a configuration's tiles do not change
  /// it.
  std::size_t random_cases;
  int overlapping_cases, preparing_cases;
};

std::ostream& operator<<(std::ostream& out, const Amount& of) { return out << of.family->name(); }

std::vector<Amount> each_family(bool is_thorough) {
  std::vector<Amount> amounts;
  for (const Family* family : families()) {
    amounts.push_back(is_thorough ? Amount{family, true, 15, 12, 4} : Amount{family, false, 2, 2, 1});
  }
  return amounts;
}

/// The default configuration for every precision in two layouts, where there are so many in which rows of either
/// operand run along k in one and across it in the other: by itself on the oldest GPU that can run it, which has the
/// fewest instructions, and with a bias and an activation on another one, every second time the next oldest.
void add_few_defaults(const Family& family, std::vector<Compile>& cases) {
  constexpr std::array kOpposite{Layout::nt, Layout::tn, Layout::nn, Layout::tt};
  std::size_t turn = 0;
  for (const Precision precision : kAllPrecisions) {
    std::size_t served = 0;
    for (std::size_t i = 0; i < kOpposite.size() && served < 2; ++i) {
      const Problem problem = typical(family, precision, kOpposite[(i + 2 * turn) % kOpposite.size()]);
      const Config config = family.default_config(problem);
      std::vector<const DeviceSpec*> gpus;
      for (const std::string_view gpu : kGpus) {
        const DeviceSpec& device = catalog_gpu(gpu);
        if (family.broken_rule(problem, config, device).empty()) gpus.push_back(&device);
      }
      if (gpus.empty()) continue;
      if (served++ == 0) {
        cases.push_back({&family, problem, config, gpus.front()});
        continue;
      }
      const std::size_t turn_with_bias = turn / 2 * 3 + turn % 2, gpu = turn % 2 == 0 ? 1 : 2 + turn / 2;
      cases.push_back({&family, problem, config, gpus[gpu % gpus.size()],
                       fusion_in_turn(turn_with_bias, traits(precision).c.integer)});
    }
    ++turn;
  }
}

/// The default configuration for every precision and layout on two GPUs, so that every GPU meets every precision and
/// every layout: by itself on the first one that can run it, and with a fusion on the second. Where there is no second
/// one, every third has both.
void add_defaults(const Family& family, std::vector<Compile>& cases) {
  std::size_t turn = 0, lone = 0;
  for (std::size_t layout = 0; layout < kAllLayouts.size(); ++layout) {
    for (std::size_t precision = 0; precision < kAllPrecisions.size(); ++precision) {
      const Problem problem = typical(family, kAllPrecisions[precision], kAllLayouts[layout]);
      const Config config = family.default_config(problem);
      std::vector<const DeviceSpec*> gpus;
      for (const std::size_t gpu : {layout + precision, layout + precision + kAllLayouts.size()}) {
        const DeviceSpec& device = catalog_gpu(kGpus[gpu % std::size(kGpus)]);
        if (family.broken_rule(problem, config, device).empty()) gpus.push_back(&device);
      }
      if (gpus.empty()) continue;
      cases.push_back({&family, problem, config, gpus.front()});
      if (gpus.size() < 2 && lone++ % 3 != 0) continue;
      const bool is_integer = traits(problem.precision).c.integer;
      cases.push_back({&family, problem, config, gpus.back(), fusion_in_turn(turn++, is_integer)});
    }
  }
}

/// Whether what it may touch before it waits is read from its machine code.
bool is_read(const Compile& c) {
  return c.gpu->name == catalog_gpu(kReadGpu).name && c.plan().steps.front().overlaps_previous;
}

/// The number of random cases whose machine code is to be read: none of a family without such plans.
int overlapping_cases(const Amount& amount) {
  const Family& family = *amount.family;
  for (const Precision precision : kAllPrecisions) {
    const Problem problem = packed_problem(precision, Layout::nt, 1024, 1024, 1024);
    const auto plan = family.legal_plan(problem, family.default_config(problem), catalog_gpu(kReadGpu));
    if (!plan || !plan->steps.front().overlaps_previous) continue;
    return multiplies(plan->steps.front().kernel) ? amount.overlapping_cases : amount.preparing_cases;
  }
  return 0;
}

/// Random legal configurations, for well and for badly aligned operands; every other one for a batch, where it can be.
void add_random(const Amount& amount, std::vector<Compile>& cases) {
  const Family& family = *amount.family;
  std::mt19937 random(1);
  int unread = overlapping_cases(amount);
  const auto draw = [&](std::string_view gpu) {
    const Problem problem = test::random_problem(random);
    Compile candidate{&family, problem, test::random_config(family, random), &catalog_gpu(gpu)};
    if (!family.broken_rule(problem, candidate.config, *candidate.gpu).empty()) return;
    candidate.fusion.batched = cases.size() % 2 == 0 && why_unbatched(candidate.plan()).empty();
    cases.push_back(candidate);
    unread -= is_read(candidate) ? 1 : 0;
  };
  for (int i = 0; i < kDraws && cases.size() < amount.random_cases; ++i) draw(kGpus[random() % std::size(kGpus)]);
  for (int i = 0; i < kDraws && unread > 0; ++i) draw(kReadGpu);
}

// Instructions of compute capability 9.0, as NVRTC's machine code has them.
bool is_wait(const MachineInstruction& instruction) { return instruction.opcode() == 0x82e; }  // griddepcontrol.wait
bool is_access(const MachineInstruction& instruction) {
  switch (instruction.opcode()) {
    case 0x980:  // ld
    case 0x981:  // ld.global
    case 0x985:  // st
    case 0x986:  // st.global
    case 0xfae:  // cp.async
    case 0x5b4:  // cp.async.bulk.tensor
      return true;
    default:
      return false;
  }
}

/// What is wrong with the beginning of a kernel that overlaps what precedes it, or nothing.
std::string complaint_of_overlap(const std::vector<MachineInstruction>& instructions) {
  const auto wait = std::find_if(instructions.begin(), instructions.end(), is_wait);
  const auto access = std::find_if(instructions.begin(), instructions.end(), is_access);
  if (wait == instructions.end()) return "it never waits";
  if (access == instructions.end()) return "no access was recognised";
  return wait < access ? "" : "it begins too early";
}

Compilation compiled(const Nvrtc& nvrtc, const Compile& c) {
  const CompileTarget target = compile_target(*c.gpu, nvrtc.supported());
  const TemplateFiles& files = TemplateFiles::embedded();
  return nvrtc.compile(render(files, *c.family, c.problem, c.config, c.plan(), target.compute_capability, c.fusion),
                       files, target);
}

class CompileFamilies : public test::NvrtcTest, public testing::WithParamInterface<Amount> {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    is_known_ = nvrtc_ && nvrtc_->version() == "13.0";
  }

  /// What is wrong with a case, or nothing. For speed, machine code that tells something is read too.
  std::string complaint(const Compile& c, CompileFor compile_for) const {
    const CompileTarget target = compile_target(*c.gpu, nvrtc_->supported());
    const bool reads = compile_for == CompileFor::speed && is_read(c);
    const Nvrtc& nvrtc = reads ? *nvrtc_ : nvrtc_that_checks(c.family->name(), target);
    const Compilation compilation = compiled(nvrtc, c);
    const bool clean = compilation.ok() && compilation.log.find("warning") == std::string::npos;
    if (!clean) return fmt::format("{}\n{}", c.text(), compilation.log);
    if (!reads || !is_known_) return "";
    const std::string kernel = c.plan().steps.front().kernel;
    const std::string overlap = complaint_of_overlap(test::machine_instructions(compilation.cubin, kernel));
    return overlap.empty() ? "" : fmt::format("{}: {}", c.text(), overlap);
  }

  /// All complaints, found by as many threads as there are cores.
  std::vector<std::string> complaints(const std::vector<Compile>& cases, CompileFor compile_for) const {
    std::vector<std::string> found;
    std::mutex mutex;
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < cases.size(); i = next++) {
        std::string text = complaint(cases[i], compile_for);
        const std::lock_guard lock(mutex);
        if (!text.empty()) found.push_back(std::move(text));
      }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    return found;
  }

  bool is_known_ = false;  ///< whether this NVRTC's machine code can be read
};

std::string family_of(const testing::TestParamInfo<Amount>& instance) {
  return std::string(instance.param.family->name());
}
INSTANTIATE_TEST_SUITE_P(Registered, CompileFamilies, testing::ValuesIn(each_family(false)), family_of);
INSTANTIATE_TEST_SUITE_P(Thorough, CompileFamilies, testing::ValuesIn(each_family(true)), family_of);

TEST_P(CompileFamilies, Defaults) {
  std::vector<Compile> cases;
  const auto& [family, all_defaults, random, overlapping, preparing] = GetParam();
  all_defaults ? add_defaults(*family, cases) : add_few_defaults(*family, cases);
  EXPECT_FALSE(cases.empty());
  for (const std::string& text : complaints(cases, CompileFor::diagnosis)) ADD_FAILURE() << text;
}

// With tiles as small as they can be, operands of 2 and of 4 bytes: host and kernel must agree where the second begins.
TEST_P(CompileFamilies, LeastTilesOfOperandsOfDifferentWidth) {
  const Problem problem = packed_problem(Precision::bf16_x_fp32, Layout::nn, 64, 64, 64);
  std::vector<Setting> settings;
  for (const ParamInfo& param : GetParam().family->params())
    settings.push_back({std::string(param.name), param.values.front()});
  const Compile least{GetParam().family, problem, Config(std::move(settings)), &catalog_gpu("h200")};
  if (!GetParam().family->broken_rule(problem, least.config, *least.gpu).empty()) return;
  EXPECT_EQ(complaint(least, CompileFor::diagnosis), "");
}

TEST_P(CompileFamilies, RandomConfigurationsWhichWaitBeforeTheyTouchMemory) {
  std::vector<Compile> cases;
  add_random(GetParam(), cases);
  EXPECT_FALSE(cases.empty());
  const auto read = std::count_if(cases.begin(), cases.end(), is_read);
  EXPECT_GE(read, overlapping_cases(GetParam()));
  for (const std::string& text : complaints(cases, CompileFor::speed)) ADD_FAILURE() << text;
  if (read > 0 && !is_known_) GTEST_SKIP() << "NVRTC " << nvrtc_->version() << " may make other machine code";
}

class CompileLargestTiles : public test::NvrtcTest {};

// Producers of the largest tiles have the fewest registers, and the most to fetch where blocks share operands.
// Consumers need the most beside their sums where C is not aligned. Sums of parts of k, stored one by one as words,
// would let no multiplication follow another that takes rows from registers.
TEST_F(CompileLargestTiles, SpillNothing) {
  constexpr int kAligned = 0, kOdd = 1;  // what extents are less than multiples of 512
  constexpr std::tuple<Precision, Layout, int, std::string_view> kCases[] = {
      {Precision::bf16, Layout::nn, kAligned, "BM=128 BN=192 PINGPONG=1 CLUSTER_M=2 CLUSTER_N=1"},
      {Precision::bf16, Layout::tn, kAligned, "BM=256 BN=192 CLUSTER_M=2 CLUSTER_N=2"},
      {Precision::fp16, Layout::tt, kAligned, "BM=192 BN=128 PINGPONG=1 CLUSTER_M=1 CLUSTER_N=2"},
      {Precision::bf16, Layout::nt, kAligned, "BM=128 BN=176 PINGPONG=1 CLUSTER_M=4 CLUSTER_N=2"},
      {Precision::e4m3_bf16, Layout::nt, kAligned, "BM=128 BN=192 CLUSTER_M=2 CLUSTER_N=4"},
      {Precision::bf16, Layout::nt, kAligned, "BM=224 BN=192 CONSUMERS=3 CLUSTER_M=2 CLUSTER_N=2 SWAP=1"},
      {Precision::fp16_fp32, Layout::nt, kAligned, "BM=192 BN=224 CONSUMERS=3"},
      {Precision::bf16, Layout::nn, kAligned, "BM=256 BN=208"},
      {Precision::tf32, Layout::nt, kAligned, "BM=256 BN=208 SPLIT=2"},
      {Precision::e4m3_bf16, Layout::nt, kAligned, "BM=256 BN=104"},
      {Precision::bf16, Layout::nt, kOdd, "BM=256 BN=192 PACK=1"},
      {Precision::bf16, Layout::nt, kOdd, "BM=192 BN=216 CONSUMERS=3 PACK=1"},
      {Precision::tf32, Layout::nn, kAligned, "BM=256 BN=64 CONSUMERS=1 SWAP=1 SPLIT=4"},
      {Precision::int8, Layout::nt, kAligned, "BM=128 BN=192 SPLIT=4"}};
  const Family& wgmma = family_named("wgmma");
  const DeviceSpec& gpu = catalog_gpu("h200");
  for (const auto& [precision, layout, less, settings] : kCases) {
    const Problem problem = packed_problem(precision, layout, 4096 - less, 4608 - less, 3584 - less);
    const Config config = wgmma.with_defaults(wgmma.parse(settings), problem);
    ASSERT_EQ(wgmma.broken_rule(problem, config, gpu), "") << settings;
    const Compile tile{&wgmma, problem, config, &gpu};
    const Compilation compilation = compiled(*nvrtc_, tile);
    ASSERT_TRUE(compilation.ok()) << compilation.log;
    for (const KernelResources& kernel : compilation.kernels) EXPECT_EQ(kernel.spill_bytes, 0) << tile.text();
  }
}

}  // namespace
}  // namespace mmtune
