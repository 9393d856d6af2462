// What an application waits for: opening a database of many decisions, the plan of a size that was not tuned, and that
// of a tuned one, asked for by many threads.
//
//   build/bench_library            # 1,000, 10,000 and 100,000 winners, with 500 different kernels
//   build/bench_library FILE MODEL # opening this database for this model of a GPU, "h100"
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <mmtune/mmtune.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "db/machine_code.h"
#include "db/store.h"
#include "runtime/base/temporary_directory.h"
#include "runtime/choose/dispatch.h"
#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/space/space.h"

namespace mmtune {
namespace {

constexpr std::size_t kKernels = 500;

const DeviceSpec& gpu() { return catalog_gpu("h200"); }

/// Sizes, none of them twice.
class Sizes {
 public:
  explicit Sizes(unsigned seed) : random_(seed) {}

  Problem next() {
    const auto extent = [&] { return static_cast<std::int64_t>(8 * (1 + random_() % 2048)); };
    return packed_problem(Precision::fp32, Layout::nn, extent(), extent(), extent());
  }

 private:
  std::mt19937 random_;
};

/// A winner of this size, and what its source compiled to: no machine code that a GPU takes.
std::pair<Trial, Binary> winner_of(const Problem& problem, const Config& config) {
  static const Family& family = family_named("simt");
  static std::map<std::string, std::string> sources;
  std::string& source = sources[config.text()];
  if (source.empty()) {
    source = render(TemplateFiles::embedded(), family, problem, config, family.plan(problem, config, gpu()), 90).hash;
  }
  Binary binary;
  binary.cubin = "code of " + source;
  binary.hash = hash_machine_code(binary.cubin);
  binary.target = "sm_90a";
  binary.registers = 64;
  Trial trial;
  trial.key = {key_of(gpu()), problem, "simt", config.text(), source, Evidence::measured};
  trial.binary_hash = binary.hash;
  // 40 TFLOP/s and 3 TB/s: what a store takes as possible on an H200.
  trial.timing.median_us = 1 + flops(problem) / 4e7 + minimal_bytes(problem) / 3e6;
  return {trial, binary};
}

/// A database with so many winners, in a folder that goes with it.
class WinnersFile {
 public:
  explicit WinnersFile(std::int64_t winners) {
    const Problem middle = packed_problem(Precision::fp32, Layout::nn, 2048, 2048, 2048);
    const SearchSpace space(family_named("simt"), middle, gpu());
    const std::vector<RankedConfig> kernels = space.ranked(kKernels);
    Store store = Store::open_image("", OpenMode::read_write);
    Sizes sizes(1);
    for (std::int64_t i = 0; i < winners; ++i) {
      const auto number = kernels[static_cast<std::size_t>(i) % kernels.size()].number;
      const auto [trial, binary] = winner_of(sizes.next(), space.config(number));
      store.put(trial, &binary);
      store.put_winner(trial.key, "search", 1);
    }
    store.export_to(path());
  }

  std::string path() const { return folder_.file("mmtune.db"); }

 private:
  TemporaryDirectory folder_;
};

const WinnersFile& file_of(std::int64_t winners) {
  static std::map<std::int64_t, WinnersFile> files;
  return files.try_emplace(winners, winners).first->second;
}

double heap_mb() { return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd) / 1e6; }

void open_library(benchmark::State& state) {
  const std::string path = file_of(state.range(0)).path();
  double memory_mb = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const double before_mb = heap_mb();
    state.ResumeTiming();
    std::optional<Library> library = Library::open({.database = path, .model = "h200"});
    state.PauseTiming();
    memory_mb = heap_mb() - before_mb;
    library.reset();
    state.ResumeTiming();
  }
  state.counters["memory_mb"] = memory_mb;
}
BENCHMARK(open_library)->RangeMultiplier(10)->Range(1'000, 100'000)->Unit(benchmark::kMillisecond);

void open_database(benchmark::State& state, const LibraryOptions& options) {
  for (auto _ : state) Library::open(options);
}

/// Every size is new; an application that asks for one again gets a remembered answer.
void plan_new_size(benchmark::State& state) {
  const Library library = Library::open({.database = file_of(state.range(0)).path(), .model = "h200"});
  Sizes sizes(2);
  for (auto _ : state) {
    const Problem problem = sizes.next();
    benchmark::DoNotOptimize(library.plan({.m = problem.m, .n = problem.n, .k = problem.k}));
  }
}
BENCHMARK(plan_new_size)->RangeMultiplier(10)->Range(1'000, 100'000)->Unit(benchmark::kMicrosecond);

constexpr std::int64_t kMostWinners = 100'000;

/// A library with so many winners that knows the answers for the first of them, as after a first round of calls.
struct WarmLibrary {
  explicit WarmLibrary(std::int64_t known)
      : library(Library::open({.database = file_of(kMostWinners).path(), .model = "h200"})) {
    const double before_mb = heap_mb();
    Sizes sizes(1);
    for (std::int64_t i = 0; i < known; ++i) {
      const Problem problem = sizes.next();
      benchmark::DoNotOptimize(library.plan({.m = problem.m, .n = problem.n, .k = problem.k}));
    }
    answers_mb = heap_mb() - before_mb;
  }

  Library library;
  double answers_mb = 0;
};

const WarmLibrary& warm_library(std::int64_t known) {
  static std::map<std::int64_t, WarmLibrary> libraries;
  return libraries.try_emplace(known, known).first->second;
}

float nanoseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<float, std::nano>(time).count();
}

/// Each thread asks for all of the sizes in another order. A look-up is timed alone, less what reading the clock takes:
/// of more threads than cores most wait for a core, which is none of its time.
void look_up(benchmark::State& state) {
  static const Library* library = nullptr;
  if (state.thread_index() == 0) {
    const WarmLibrary& warm = warm_library(state.range(0));
    library = &warm.library;
    state.counters["answers_mb"] = warm.answers_mb;
  }
  std::vector<std::array<std::int32_t, 3>> calls;
  Sizes sizes(1);
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const Problem problem = sizes.next();
    const auto extent = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    calls.push_back({extent(problem.m), extent(problem.n), extent(problem.k)});
  }
  std::shuffle(calls.begin(), calls.end(), std::mt19937(static_cast<unsigned>(state.thread_index())));
  std::vector<float> times_ns;
  std::vector<float> clock_ns;
  times_ns.reserve(1 << 20);
  clock_ns.reserve(1 << 20);
  std::size_t next = 0;
  for (auto _ : state) {
    const auto& [m, n, k] = calls[next];
    Gemm call{.m = m, .n = n, .k = k};
    benchmark::DoNotOptimize(call);
    const auto before = std::chrono::steady_clock::now();
    const auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(library->workspace_bytes(call));
    const auto end = std::chrono::steady_clock::now();
    times_ns.push_back(nanoseconds(end - begin));
    clock_ns.push_back(nanoseconds(begin - before));
    if (++next == calls.size()) next = 0;
  }
  const auto quantile = [](std::vector<float>& of, std::size_t percent) {
    const auto at = of.begin() + static_cast<std::ptrdiff_t>(of.size() * percent / 100);
    std::nth_element(of.begin(), at, of.end());
    return *at;
  };
  const float clock = quantile(clock_ns, 50);
  const auto mean = [](double value) { return benchmark::Counter(value, benchmark::Counter::kAvgThreads); };
  state.counters["p50_ns"] = mean(quantile(times_ns, 50) - clock);
  state.counters["p90_ns"] = mean(quantile(times_ns, 90) - clock);
}
BENCHMARK(look_up)
    ->ArgName("sizes")
    ->Arg(1'000)
    ->Arg(16'000)
    ->Arg(kMostWinners)
    ->Threads(1)
    ->Threads(64)
    ->UseRealTime();

}  // namespace
}  // namespace mmtune

int main(int argc, char** argv) {
  constexpr int kNamed = 2;
  if (argc > kNamed && argv[1][0] != '-') {
    const mmtune::LibraryOptions options{.database = argv[1], .model = argv[2]};
    benchmark::RegisterBenchmark("open_database", mmtune::open_database, options)->Unit(benchmark::kMillisecond);
    argv[kNamed] = argv[0];
    argv += kNamed;
    argc -= kNamed;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
