// What an application waits for: opening a database of many decisions, and the plan of a size that was not tuned.
//
//   build/bench_library            # 1,000, 10,000 and 100,000 winners, with 500 different kernels
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>
#include <mmtune/mmtune.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "db/machine_code.h"
#include "db/store.h"
#include "runtime/dispatch.h"
#include "templates/families.h"
#include "templates/gpu_catalog.h"
#include "templates/space.h"

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
  trial.timing.median_us = 1 + flops(problem) / 4e7;
  return {trial, binary};
}

/// A database with so many winners, in a folder that goes with it.
class WinnersFile {
 public:
  explicit WinnersFile(std::int64_t winners) {
    std::string pattern = std::filesystem::temp_directory_path() / "mmtune_bench_XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw Error("no temporary directory");
    folder_ = pattern;
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
  ~WinnersFile() { std::filesystem::remove_all(folder_); }
  WinnersFile(const WinnersFile&) = delete;
  WinnersFile& operator=(const WinnersFile&) = delete;

  std::string path() const { return folder_ / "mmtune.db"; }

 private:
  std::filesystem::path folder_;
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
    const double before_mb = heap_mb();
    const Library library = Library::open({.database = path, .model = "h200"});
    memory_mb = heap_mb() - before_mb;
  }
  state.counters["memory_mb"] = memory_mb;
}
BENCHMARK(open_library)->RangeMultiplier(10)->Range(1'000, 100'000)->Unit(benchmark::kMillisecond);

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

}  // namespace
}  // namespace mmtune
