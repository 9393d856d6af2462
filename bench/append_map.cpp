// What a call of the library pays for finding the answer that it worked out before: AppendMap against an unordered_map
// behind a shared_mutex, for one size that all threads ask for, and for a thousand.
#include "runtime/call/append_map.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "runtime/choose/dispatch.h"

namespace mmtune {
namespace {

using Answer = std::shared_ptr<const int>;

constexpr std::int64_t kMostSizes = 1000;

/// What it has lives as long as the map, so that who finds it need not own it.
class Appended {
 public:
  void put(const Problem& problem, Answer answer) { map_.put(problem, std::move(answer)); }

  const int* find(const Problem& problem) const {
    const Answer* known = map_.find(problem);
    return known == nullptr ? nullptr : known->get();
  }

 private:
  AppendMap<Problem, Answer, ProblemHash> map_;
};

/// Its find() returns a copy: once the lock is open, another answer may take the place.
class Locked {
 public:
  void put(const Problem& problem, Answer answer) {
    const std::unique_lock lock(mutex_);
    map_.insert_or_assign(problem, std::move(answer));
  }

  Answer find(const Problem& problem) const {
    const std::shared_lock lock(mutex_);
    const auto known = map_.find(problem);
    return known == map_.end() ? nullptr : known->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Problem, Answer, ProblemHash> map_;
};

Problem problem_number(std::int64_t number) {
  return packed_problem(Precision::fp32, Layout::nn, 64 + number % 10, 64 + number / 10 % 10, 64 + number / 100);
}

template <class Map>
const Map& filled() {
  static const std::unique_ptr<Map> map = [] {
    auto fresh = std::make_unique<Map>();
    for (int i = 0; i < kMostSizes; ++i) fresh->put(problem_number(i), std::make_shared<const int>(i));
    return fresh;
  }();
  return *map;
}

/// The argument is how many sizes threads ask for, each beginning with another one.
template <class Map>
void find(benchmark::State& state) {
  const Map& map = filled<Map>();
  std::vector<Problem> problems;
  for (std::int64_t i = 0; i < state.range(0); ++i) problems.push_back(problem_number(i));
  std::size_t next = static_cast<std::size_t>(state.thread_index()) * 37 % problems.size();
  for (auto _ : state) {
    benchmark::DoNotOptimize(map.find(problems[next]));
    if (++next == problems.size()) next = 0;
  }
}

void threads_and_sizes(benchmark::internal::Benchmark* each) {
  each->ArgName("sizes")->Arg(1)->Arg(kMostSizes)->ThreadRange(1, 64)->UseRealTime();
}

BENCHMARK_TEMPLATE(find, Appended)->Apply(threads_and_sizes);
BENCHMARK_TEMPLATE(find, Locked)->Apply(threads_and_sizes);

}  // namespace
}  // namespace mmtune
