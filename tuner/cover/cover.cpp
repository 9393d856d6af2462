#include "tuner/cover/cover.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/dispatch.h"
#include "runtime/learnt_times.h"
#include "runtime/log.h"
#include "runtime/template_files.h"
#include "templates/dtype.h"
#include "tuner/cover/hold_out.h"
#include "tuner/cover/measured_kernels.h"

namespace mmtune {
namespace {

using Clock = std::chrono::steady_clock;

// The search of a decision: a cover that was completed, which searched the size, or only measured its kernels there; or
// a share of one, which searched the size for others to go on with.
constexpr std::string_view kSearched = "cover";
constexpr std::string_view kMeasured = "covered";
constexpr std::string_view kShared = "cover share";
constexpr double kSearchShare = 0.75;      // of the budget, for searching each size by itself
constexpr double kCrossShare = 0.4;        // of what is left then, for measuring kernels at other sizes
constexpr double kFurtherShare = 0.9;      // of what is left then, for measuring those that were chosen
constexpr double kCloseToBest = 1.04;      // a kernel this close to the fastest of a size is looked at elsewhere,
constexpr std::size_t kMostClose = 4;      // at most so many of each size,
constexpr double kShortlist = 1.5;         // and of all so many times as may be chosen
constexpr double kPromising = 1.25;        // expected times this close to the best are measured,
constexpr std::size_t kMostPromising = 8;  // at further sizes at most so many

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Cover {
 public:
  explicit Cover(const CoverOptions& options)
      : options_(options),
        begin_(Clock::now()),
        device_(options.session.devices.front()),
        preparation_(template_files(), device_.spec, compile_target(device_.spec, {compute_capability(device_.spec)}),
                     evidence_of(device_), "") {
    for (const AskedProblem& size : options.sample) problems_.push_back(size.problem);
    problems_.insert(problems_.end(), options.further.begin(), options.further.end());
  }

  CoverSummary run() {
    CoverSummary summary;
    const std::vector<Problem> open = in_state(State::open, problems_of_sample());
    const std::vector<Problem> searched = in_state(State::searched, problems_of_sample());
    const bool is_finished = open.empty() && searched.empty();
    if (!is_finished) {  // else the kernels are only chosen anew
      const double missing = static_cast<double>(open.size()) / static_cast<double>(open.size() + searched.size());
      spend((1 - missing) * searching_s());
      summary.interrupted = search(open, missing * searching_s()).interrupted || cross();
      if (summary.interrupted) return summary;
    }
    const MeasuredKernels found = read();
    const std::vector<std::size_t> kernels = choose(found, summary);
    summary.interrupted = measure(further(found, kernels, is_finished), kFurtherShare);
    if (summary.interrupted) return summary;
    const MeasuredKernels measured = read();  // sizes of the sample come first, so that kernels keep their numbers
    store(measured, kernels, summary);
    summary.held_out = lost_held_out(measured);
    return summary;
  }

  /// The first part of a run for the sizes of the session.
  SessionSummary search_share(int shares) {
    const std::vector<Problem> open = in_state(State::open, options_.session.problems);
    const SessionSummary summary = search(open, searching_s() / shares);
    if (!summary.interrupted) hand_on(open);
    return summary;
  }

 private:
  enum class State {
    open,
    searched,  ///< by a share
    covered,
  };

  std::vector<Problem> problems_of_sample() const {
    return {problems_.begin(), problems_.begin() + static_cast<std::ptrdiff_t>(options_.sample.size())};
  }

  MeasuredKernels read() const {
    Store store = Store::open(options_.session.database, OpenMode::read_only);
    return {store, preparation_, problems_};
  }

  /// Of the budget, for searching all sizes of the sample.
  double searching_s() const { return kSearchShare * options_.session.budget_s; }

  /// Others have taken so much of the budget.
  void spend(double time_s) {
    begin_ -= std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time_s));
  }

  double left_s() const {
    return options_.session.budget_s - std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  /// 0: no limit.
  double at_least_a_second(double budget_s) const {
    return options_.session.budget_s > 0 ? std::max(1.0, budget_s) : 0;
  }

  std::vector<Problem> in_state(State state, const std::vector<Problem>& problems) const {
    Store store = Store::open(options_.session.database, OpenMode::read_write);
    std::vector<Problem> found;
    std::copy_if(problems.begin(), problems.end(), std::back_inserter(found),
                 [&](const Problem& problem) { return state_of(store, problem) == state; });
    return found;
  }

  State state_of(Store& store, const Problem& problem) const {
    const auto winner = store.find_winner(key_of(device_.spec), problem, preparation_.evidence());
    if (!winner || !preparation_.makes(winner->trial.key)) return State::open;
    if (winner->search == kShared) return State::searched;
    return winner->search == kSearched ? State::covered : State::open;
  }

  /// Each by itself.
  SessionSummary search(const std::vector<Problem>& problems, double budget_s) const {
    if (problems.empty()) return {};
    SessionOptions session = options_.session;
    session.problems = problems;
    session.budget_s = at_least_a_second(budget_s);
    return run_session(session);
  }

  /// What was found by now is what a run on the merged databases begins with.
  void hand_on(const std::vector<Problem>& problems) const {
    Store store = Store::open(options_.session.database, OpenMode::read_write);
    for (const Problem& problem : problems) {
      const auto winner = store.find_winner(key_of(device_.spec), problem, preparation_.evidence());
      if (winner) store.put_winner(winner->trial.key, std::string(kShared), winner->candidates);
    }
  }

  /// Kernels that did well at some size, at the sizes where they may do well too. True if interrupted.
  bool cross() const { return measure(listed(read()), kCrossShare); }

  /// These candidates, by size, for a share of the time that is left. True if interrupted.
  bool measure(const std::vector<std::vector<Candidate>>& lists, double share) const {
    SessionOptions session = options_.session;
    session.problems.clear();
    for (std::size_t size = 0; size < lists.size(); ++size) {
      if (!lists[size].empty()) session.problems.push_back(problems_[size]);
    }
    if (session.problems.empty()) return false;
    session.budget_s = at_least_a_second(share * left_s());
    session.listed = [&](const Problem& problem) {
      const auto size = std::find(problems_.begin(), problems_.end(), problem) - problems_.begin();
      return lists[static_cast<std::size_t>(size)];
    };
    return run_session(session).interrupted;
  }

  /// By size of the sample, the kernels to be measured, the most promising first.
  std::vector<std::vector<Candidate>> listed(const MeasuredKernels& measured) const {
    const TimeMatrix expected = expected_times(measured);
    const auto most = static_cast<std::size_t>(kShortlist * static_cast<double>(options_.most_kernels));
    const Portfolio shortlist = choose_portfolio(expected, most, 0);
    std::vector<std::vector<Candidate>> lists(problems_.size());
    for (std::size_t size = 0; size < options_.sample.size(); ++size) {
      std::vector<std::pair<double, std::size_t>> promising;
      for (const std::size_t kernel : shortlist.kernels) {
        const auto known = measured.times(size).find(kernel);
        if (known != measured.times(size).end() && known->second.is_ok) continue;
        const double time_us = expected.time_us[size][kernel];
        if (time_us <= kPromising * measured.best_us(size)) promising.emplace_back(time_us, kernel);
      }
      std::sort(promising.begin(), promising.end());
      for (const auto& [time_us, kernel] : promising) lists[size].push_back(measured.kernels()[kernel].candidate);
    }
    return lists;
  }

  /// By further size, the chosen kernels to be measured there; `only_new`: at sizes where nothing was measured yet.
  std::vector<std::vector<Candidate>> further(const MeasuredKernels& measured, const std::vector<std::size_t>& kernels,
                                              bool only_new) const {
    const LearntTimes learnt = learn(measured);
    std::vector<std::vector<Candidate>> lists(problems_.size());
    for (std::size_t size = options_.sample.size(); size < problems_.size(); ++size) {
      if (only_new && !measured.times(size).empty()) continue;
      const LearntTimes::Around around = learnt.around(problems_[size]);
      std::vector<std::pair<double, std::size_t>> expected;
      for (const std::size_t kernel : kernels) {
        if (!measured.suits(kernel, problems_[size])) continue;
        const double factor = around.factor(static_cast<std::uint32_t>(kernel));
        expected.emplace_back(measured.model_us(kernel, problems_[size]) * factor, kernel);
      }
      std::sort(expected.begin(), expected.end());
      expected.resize(std::min(kMostPromising, expected.size()));
      for (const auto& [time_us, kernel] : expected) {
        if (time_us <= kPromising * expected.front().first && !measured.times(size).contains(kernel)) {
          lists[size].push_back(measured.kernels()[kernel].candidate);
        }
      }
    }
    return lists;
  }

  /// Measured times, and of what came close to the best somewhere expected ones elsewhere.
  TimeMatrix expected_times(const MeasuredKernels& measured) const {
    std::vector<bool> is_close(measured.kernels().size());
    for (std::size_t size = 0; size < options_.sample.size(); ++size) {
      std::vector<std::pair<double, std::size_t>> close;
      for (const auto& [kernel, time] : measured.times(size)) {
        if (time.is_ok && time.median_us <= kCloseToBest * measured.best_us(size)) {
          close.emplace_back(time.median_us, kernel);
        }
      }
      std::sort(close.begin(), close.end());
      close.resize(std::min(kMostClose, close.size()));
      for (const auto& [time_us, kernel] : close) is_close[kernel] = true;
    }
    const LearntTimes learnt = learn(measured);
    TimeMatrix matrix = empty_matrix(measured);
    for (std::size_t size = 0; size < options_.sample.size(); ++size) {
      const LearntTimes::Around around = learnt.around(problems_[size]);
      for (std::size_t kernel = 0; kernel < is_close.size(); ++kernel) {
        if (!is_close[kernel] || !measured.suits(kernel, problems_[size])) continue;
        const auto known = measured.times(size).find(kernel);
        const auto number = static_cast<std::uint32_t>(kernel);
        matrix.time_us[size][kernel] = known != measured.times(size).end()
                                           ? known->second.median_us
                                           : measured.model_us(kernel, problems_[size]) * around.factor(number);
      }
    }
    return matrix;
  }

  LearntTimes learn(const MeasuredKernels& measured) const {
    std::vector<KernelTime> times;
    for (std::size_t size = 0; size < problems_.size(); ++size) {
      for (const auto& [kernel, time] : measured.times(size)) {
        const double model_us = measured.model_us(kernel, problems_[size]);
        if (!std::isfinite(model_us) || !(model_us > 0)) continue;
        times.push_back({static_cast<std::uint32_t>(kernel), problems_[size], time.median_us, model_us});
      }
    }
    return LearntTimes(times);
  }

  TimeMatrix empty_matrix(const MeasuredKernels& measured) const {
    const std::size_t kernels = measured.kernels().size();
    TimeMatrix matrix{kernels, {}, {}, measured.programs()};
    for (const AskedProblem& size : options_.sample) matrix.weights.push_back(size.weight);
    matrix.time_us.assign(options_.sample.size(), std::vector<double>(kernels, kInfinity));
    return matrix;
  }

  std::vector<std::size_t> choose(const MeasuredKernels& measured, CoverSummary& summary) const {
    TimeMatrix matrix = empty_matrix(measured);
    for (std::size_t size = 0; size < options_.sample.size(); ++size) {
      for (const auto& [kernel, time] : measured.times(size)) {
        if (time.is_ok) matrix.time_us[size][kernel] = time.median_us;
      }
    }
    const Portfolio portfolio = choose_portfolio(matrix, options_.most_kernels, options_.loss);
    summary.sample = {options_.sample.size(), portfolio.mean_loss, portfolio.worst_loss};
    summary.programs = portfolio.programs;
    return portfolio.kernels;
  }

  /// The kernels become the decisions.
  void store(const MeasuredKernels& measured, const std::vector<std::size_t>& kernels, CoverSummary& summary) const {
    Store store = Store::open(options_.session.database, OpenMode::read_write);
    for (const std::size_t kernel : kernels) {
      const SampledKernel& each = measured.kernels()[kernel];
      summary.kernels.push_back({std::string(each.candidate.family->name()), each.candidate.config.text(),
                                 each.precision, each.layout, each.align, 0});
    }
    for (std::size_t size = 0; size < problems_.size(); ++size) {
      const MeasuredKernels::Time* best = nullptr;
      std::size_t serving = 0;
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto known = measured.times(size).find(kernels[i]);
        if (known == measured.times(size).end() || !known->second.is_ok) continue;
        if (best != nullptr && best->median_us <= known->second.median_us) continue;
        best = &known->second;
        serving = i;
      }
      if (best == nullptr) continue;
      const bool is_sampled = size < options_.sample.size();
      if (is_sampled) ++summary.kernels[serving].sizes;
      store.put_winner(best->key, std::string(is_sampled ? kSearched : kMeasured),
                       static_cast<int>(measured.times(size).size()));
    }
  }

  /// Of the sizes of the sample: the decisions as the library reads them, beside the fastest of all candidates.
  Losses lost_held_out(const MeasuredKernels& measured) const {
    Store store = Store::open(options_.session.database, OpenMode::read_only);
    const StoredKernels kernels = load_kernels(store, device_.spec, template_files());
    Losses losses;
    double weights = 0;
    for (const HeldOut& each : hold_out(device_.spec, kernels)) {
      const auto size =
          static_cast<std::size_t>(std::find(problems_.begin(), problems_.end(), each.problem) - problems_.begin());
      if (size >= options_.sample.size()) continue;
      const double weight = options_.sample[size].weight;
      const double loss = each.us / measured.best_us(size) - 1;
      ++losses.sizes;
      weights += weight;
      losses.mean += weight * loss;
      losses.worst = std::max(losses.worst, loss);
    }
    if (weights > 0) losses.mean /= weights;
    return losses;
  }

  const CoverOptions& options_;
  Clock::time_point begin_;
  DeviceChoice device_;
  Preparation preparation_;
  std::vector<Problem> problems_;
};

}  // namespace

Problem sampled_problem(const Problem& problem) {
  const PrecisionTraits& types = traits(problem.precision);
  const auto coarse = [](int align, const FormatTraits& format) { return align >= 16 ? 16 : format.bytes; };
  Problem sampled = problem;
  sampled.align = {coarse(problem.align.a, types.a), coarse(problem.align.b, types.b),
                   coarse(problem.align.c, types.c)};
  return sampled;
}

CoverSummary cover(const CoverOptions& options) { return Cover(options).run(); }

SessionSummary search_share(const CoverOptions& options, int shares) { return Cover(options).search_share(shares); }

}  // namespace mmtune
