// Every family in every precision and layout on a GPU, over shapes, alignments and scalars of every kind, against a
// plain loop on the host. Configurations are drawn at random; each runs in all scenes that its rules allow.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <tuple>

#include "runtime/gpu/launch.h"
#include "runtime/gpu/nvrtc.h"
#include "templates/family/families.h"
#include "tests/runtime/support.h"
#include "tests/tuner/matrices.h"
#include "tests/tuner/samples.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {
namespace {

using test::Gaps;
using test::kInfinity;
using test::kNan;
using test::Matrix;
using test::Scalars;
using test::Values;

constexpr int kConfigs = 6;     // drawn for each layout, besides those that show new values
constexpr int kComplaints = 8;  // the number of complaints after which a test gives up

struct Scene {
  const char* what;
  std::int64_t m, n, k;
  Values values = Values::whole;
  Scalars scalars = {};
  Gaps gaps = {};
  bool spoilt = false;  ///< some operands are infinite or NaN
};

constexpr Scalars kBoth{.alpha = 0.75, .beta = -0.5};
constexpr Scalars kWhole{.alpha = 2, .beta = -3};

constexpr Scene kScenes[] = {
    {"one element", 1, 1, 1},
    {"tiny", 7, 5, 3, Values::random, kBoth},
    {"multiples of 16", 64, 96, 160, Values::random, kBoth},
    {"primes", 127, 131, 129, Values::random, kBoth},
    {"primes, whole numbers", 131, 127, 67, Values::whole, kWhole},
    {"deep", 67, 45, 2099},
    {"deep, random", 35, 67, 2099, Values::random, kBoth},
    {"deep multiples of 16", 48, 80, 2112, Values::random, kBoth},
    {"a row", 1, 257, 65},
    {"a column", 193, 1, 31},
    {"wide rows", 33, 48, 80, Values::whole, kWhole},
    {"narrow rows", 48, 33, 81, Values::whole, kWhole},
    {"aligned gaps", 64, 96, 160, Values::whole, kWhole, {.padding = 16, .offset = 16}},
    {"odd gaps", 64, 96, 160, Values::whole, kWhole, {.padding = 3, .offset = 1}},
    {"odd gaps, random", 53, 61, 47, Values::random, kBoth, {.padding = 1, .offset = 7}},
    {"even gaps", 66, 34, 42, Values::whole, kWhole, {.padding = 2, .offset = 2}},
    {"beta without alpha reads no operand", 33, 35, 21, Values::nan, {.alpha = 0, .beta = 2}},
    {"beta without alpha, aligned", 64, 96, 48, Values::nan, {.alpha = 0, .beta = 2}},
    {"neither alpha nor beta", 33, 35, 21, Values::nan, {.alpha = 0, .beta = 0}},
    {"no depth", 33, 35, 0, Values::whole, {.alpha = 1, .beta = -2}},
    {"no depth, infinite alpha", 33, 35, 0, Values::whole, {.alpha = kInfinity, .beta = 2}},
    {"no depth, nothing to read", 33, 35, 0, Values::whole, {.alpha = 1, .beta = 0}},
    {"beta is one", 37, 31, 29, Values::whole, {.alpha = 1, .beta = 1}},
    {"NaN and infinities", 41, 37, 51, Values::whole, {.alpha = 1, .beta = 0}, {}, true},
    {"NaN and infinities, aligned", 64, 96, 48, Values::whole, {.alpha = 1, .beta = 2}, {}, true},
};

/// The operands of a scene, and what becomes of C.
class Stage {
 public:
  Stage(const Scene& scene, Precision precision, Layout layout)
      : scene_(scene),
        problem_{precision, layout, scene.m, scene.n, scene.k, {}},
        a_(traits(precision).a, stored_a(problem_), scene.gaps, scene.values, 1),
        b_(traits(precision).b, stored_b(problem_), scene.gaps, scene.values, 2),
        c_(traits(precision).c, stored_c(problem_), scene.gaps, scene.scalars.beta == 0 ? Values::nan : Values::whole,
           3) {
    if (traits(precision).scalar.integer) {
      for (double* scalar : {&scene_.scalars.alpha, &scene_.scalars.beta}) *scalar = whole(*scalar);
    }
    if (scene.spoilt) spoil();
    problem_.align =
        alignment_of(problem_, {a_.ld(), b_.ld(), c_.ld()}, {a_.offset_bytes(), b_.offset_bytes(), c_.offset_bytes()});
  }

  const Problem& problem() const { return problem_; }
  std::string what() const { return fmt::format("{}: {}", scene_.what, to_string(problem_)); }

  /// Must be called once, before run().
  void set() {
    a_.upload();
    b_.upload();
    sums_ = test::multiply(problem_, a_, b_);
  }

  /// C as the kernel leaves it. A step that reads a workspace which none has written gets NaN.
  std::vector<char> run(const LoadedKernel& kernel, const LaunchPlan& plan) {
    c_.upload();
    const auto workspace_bytes = static_cast<std::size_t>(plan.workspace.bytes());
    const DeviceBuffer workspace(workspace_bytes);
    if (workspace_bytes > 0) MMTUNE_CUDA(cuMemsetD8(workspace.address(), 0xff, workspace_bytes));
    MMTUNE_CUDA(cuCtxSynchronize());
    const Operands operands{a_.address(),         b_.address(),        c_.address(),       {a_.ld(), b_.ld(), c_.ld()},
                            scene_.scalars.alpha, scene_.scalars.beta, workspace.address()};
    const Stream stream = make_stream();
    launch(kernel, plan, problem_, operands, stream.get());
    MMTUNE_CUDA(cuStreamSynchronize(stream.get()));
    return c_.download();
  }

  /// A and C after products that each multiply what the one before has left: C = A B, A = C B and so on, all enqueued
  /// at once, or each when the one before has finished. A and C must be alike.
  std::pair<std::vector<char>, std::vector<char>> run_chain(const LoadedKernel& kernel, const LaunchPlan& plan,
                                                            bool waits) {
    constexpr int kProducts = 24;
    a_.upload();
    c_.upload();
    const DeviceBuffer workspace(static_cast<std::size_t>(plan.workspace.bytes()));
    MMTUNE_CUDA(cuCtxSynchronize());
    const Stream stream = make_stream();
    Operands operands{a_.address(),         b_.address(),        c_.address(),       {a_.ld(), b_.ld(), c_.ld()},
                      scene_.scalars.alpha, scene_.scalars.beta, workspace.address()};
    for (int i = 0; i < kProducts; ++i) {
      launch(kernel, plan, problem_, operands, stream.get());
      if (waits) MMTUNE_CUDA(cuStreamSynchronize(stream.get()));
      std::swap(operands.a, operands.c);
    }
    MMTUNE_CUDA(cuStreamSynchronize(stream.get()));
    return {a_.download(), c_.download()};
  }

  /// The first thing that is wrong with C, or nothing.
  std::string complaint(const std::vector<char>& image) const {
    return test::complaint(test::Judge(problem_, scene_.scalars, scene_.values != Values::random), sums_, c_, image);
  }

 private:
  /// Scalars of integers.
  static double whole(double scalar) { return std::isfinite(scalar) ? std::trunc(4 * scalar) : 7; }

  /// In the first, the last and a middle step along k; the rows and columns of C that they do not touch stay finite.
  void spoil() {
    const auto put = [](Matrix& matrix, bool transposed, std::int64_t row, std::int64_t column, double value) {
      transposed ? matrix.spoil(column, row, value) : matrix.spoil(row, column, value);
    };
    const bool transposed_a = transposes_a(problem_.layout), transposed_b = transposes_b(problem_.layout);
    const std::int64_t last = scene_.k - 1;
    put(a_, transposed_a, 0, last, kNan);
    put(a_, transposed_a, 5, 0, kInfinity);
    put(a_, transposed_a, scene_.m - 1, last / 2, -kInfinity);
    put(b_, transposed_b, last, 0, kInfinity);
    put(b_, transposed_b, 0, 7, kNan);
    put(b_, transposed_b, last / 2, scene_.n - 1, kInfinity);
  }

  Scene scene_;
  Problem problem_;
  Matrix a_, b_, c_;
  test::Sums sums_;
};

/// One configuration, compiled once for each kind of alignment, in one scene.
struct Performance {
  Stage* stage;
  Config config;
  std::string program;  ///< hash of its source
};

class EveryFamily : public test::GpuTest, public testing::WithParamInterface<std::tuple<const Family*, Precision>> {
 protected:
  const Family& family() const { return *std::get<0>(GetParam()); }
  Precision precision() const { return std::get<1>(GetParam()); }

  void prepare() {
    test::Sampler sampler(family(), device_, 1);
    for (const Layout layout : kAllLayouts) {
      const std::vector<Config> configs = sampler.draw(packed_problem(precision(), layout, 256, 256, 4096), kConfigs);
      for (const Scene& scene : kScenes) {
        if (scene.spoilt && traits(precision()).accumulator.integer) continue;
        stages_.push_back(std::make_unique<Stage>(scene, precision(), layout));
        for (const Config& config : configs) add(*stages_.back(), config);
      }
    }
  }

  void add(Stage& stage, const Config& config) {
    if (!family().broken_rule(stage.problem(), config, device_).empty()) return;
    const LaunchPlan plan = family().plan(stage.problem(), config, device_);
    Source source =
        render(TemplateFiles::embedded(), family(), stage.problem(), config, plan, target_.compute_capability);
    performances_.push_back({&stage, config, source.hash});
    sources_.emplace(source.hash, std::move(source));
  }

  void compile() {
    constexpr int kJobs = 4;  // Other such tests run at the same time, about one a core.
    // However busy the machine is: this asks what kernels compute, not how soon they are compiled.
    CompilePool pool(TemplateFiles::embedded(), {.jobs = kJobs, .limit = std::chrono::minutes(10)});
    CompileQueue compiler(pool);
    std::vector<std::string> tickets;
    for (const auto& [hash, source] : sources_) {
      compiler.submit(tickets.size(), source, target_);
      tickets.push_back(hash);
    }
    while (auto result = compiler.next()) {
      const std::string& hash = tickets[result->ticket];
      const std::string first_line = sources_.at(hash).text.substr(0, sources_.at(hash).text.find('\n'));
      ASSERT_TRUE(result->compilation.ok()) << first_line << '\n' << result->compilation.log;
      programs_[hash] = std::move(result->compilation.cubin);
    }
  }

  /// Loaded once for each program and the steps that a plan makes of it.
  const LoadedKernel& kernel(const Performance& each, const LaunchPlan& plan) {
    std::string key = each.program;
    for (const LaunchStep& step : plan.steps) key += ' ' + step.kernel;
    auto& loaded = kernels_[key];
    if (!loaded) loaded = std::make_unique<LoadedKernel>(programs_.at(each.program), plan);
    return *loaded;
  }

  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<Performance> performances_;  ///< one for each stage, in their order
  std::map<std::string, Source> sources_;
  std::map<std::string, std::string> programs_;
  std::map<std::string, std::unique_ptr<LoadedKernel>> kernels_;
};

TEST_P(EveryFamily, ComputesTheProductTwiceAlike) {
  prepare();
  if (performances_.empty()) GTEST_SKIP() << family().name() << " has no configuration for this precision on this GPU";
  compile();
  if (HasFailure()) return;
  Stage* set = nullptr;
  int complaints = 0;
  for (const Performance& each : performances_) {
    if (std::exchange(set, each.stage) != each.stage) each.stage->set();
    const LaunchPlan plan = family().plan(each.stage->problem(), each.config, device_);
    const LoadedKernel& kernel = this->kernel(each, plan);
    const std::vector<char> image = each.stage->run(kernel, plan);
    std::string wrong = each.stage->complaint(image);
    if (wrong.empty() && plan.deterministic && each.stage->run(kernel, plan) != image) {
      wrong = "a second run gives other bits";
    }
    if (wrong.empty()) continue;
    ADD_FAILURE() << family().name() << ' ' << each.config.text() << "\n  " << each.stage->what() << "\n  " << wrong;
    if (++complaints == kComplaints) FAIL() << "more is not reported";
  }
  RecordProperty("programs", static_cast<int>(sources_.size()));
  RecordProperty("runs", static_cast<int>(performances_.size()));
}

TEST_P(EveryFamily, CallsSeeWhatTheCallBeforeWrote) {
  const PrecisionTraits& types = traits(precision());
  if (types.a.format != types.c.format) GTEST_SKIP() << "C is no operand of a product";
  // Sums of 256 products of numbers within [-1, 1] are about as large as a sixteenth of them.
  const Scene chain{"a chain", 256, 256, 256, Values::random, {.alpha = types.scalar.integer ? 1.0 : 0.1, .beta = 0}};
  Stage stage(chain, precision(), Layout::nn);
  test::Sampler sampler(family(), device_, 2);
  for (const Config& config : sampler.draw(stage.problem(), kConfigs)) add(stage, config);
  if (performances_.empty()) GTEST_SKIP() << family().name() << " has no configuration for this precision on this GPU";
  compile();
  if (HasFailure()) return;
  stage.set();
  for (const Performance& each : performances_) {
    const LaunchPlan plan = family().plan(stage.problem(), each.config, device_);
    const LoadedKernel& kernel = this->kernel(each, plan);
    EXPECT_TRUE(stage.run_chain(kernel, plan, false) == stage.run_chain(kernel, plan, true))
        << family().name() << ' ' << each.config.text();
  }
}

INSTANTIATE_TEST_SUITE_P(GpuTogether, EveryFamily,
                         testing::Combine(testing::ValuesIn(families()), testing::ValuesIn(kAllPrecisions)),
                         [](const auto& instance) {
                           return fmt::format("{}_{}", std::get<0>(instance.param)->name(),
                                              to_string(std::get<1>(instance.param)));
                         });

/// Empty outputs launch nothing, whatever the operands are.
class GpuEmptyProduct : public test::GpuTest {};

TEST_F(GpuEmptyProduct, LeavesCAlone) {
  const Family& naive = family_named("naive");
  for (const auto& [m, n] : {std::pair{0, 5}, std::pair{5, 0}, std::pair{0, 0}}) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, m, n, 3);
    const Config config = naive.default_config(problem);
    const LaunchPlan plan = naive.plan(problem, config, device_);
    const Source source = render(TemplateFiles::embedded(), naive, problem, config, plan, target_.compute_capability);
    const LoadedKernel kernel(nvrtc_->compile(source, TemplateFiles::embedded(), target_).cubin, plan);
    Matrix c(traits(Precision::fp32).c, {5, 5}, {}, Values::whole, 1);
    c.upload();
    const std::vector<char> before = c.download();
    launch(kernel, plan, problem, {.c = c.address(), .ld = {3, 5, 5}, .beta = 2}, nullptr);
    MMTUNE_CUDA(cuCtxSynchronize());
    EXPECT_EQ(c.download(), before) << m << 'x' << n;
  }
}

}  // namespace
}  // namespace mmtune
