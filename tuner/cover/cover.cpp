#include "tuner/cover/cover.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/choose/dispatch.h"
#include "templates/problem/dtype.h"
#include "tuner/cover/cover_state.h"
#include "tuner/cover/kernel_choice.h"
#include "tuner/cover/machine_code.h"
#include "tuner/cover/measured_kernels.h"
#include "tuner/cover/proven_kernels.h"
#include "tuner/tune/deadlines.h"
#include "tuner/workers/kept_workers.h"

namespace mmtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRest_s = 60;            // the most seconds for what follows the searches; the GPU needs 34
constexpr double kSearchShare = 0.55;     // the least part of the budget for searching each size by itself
constexpr double kLatest = 9.0 / 8;       // no search begins that ends later than this, as a multiple of that part
constexpr double kProvenShare = 0.5;      // the most of that part for measuring what won elsewhere first
constexpr double kSourceS = 0.6;          // the seconds in which a process compiles a source; most take less
constexpr std::size_t kMostProven = 384;  // the most programs that won elsewhere and are compiled
constexpr double kCrossShare = 0.4;       // the part of the rest for measuring kernels at other sizes
constexpr double kFurtherShare = 0.75;    // the part of what is then left for measuring them at further sizes
constexpr double kSpareShare = 0.9;       // the part of what is left after that for kernels at spare sizes
constexpr double kLeastSpare_s = 1;       // the least seconds that are worth measuring for once more

class Cover {
 public:
  explicit Cover(const CoverOptions& options)
      : options_(options),
        choice_(options_),
        begin_(Clock::now()),
        device_(options.session.devices.front()),
        preparation_(template_files(), device_.spec, compile_target(device_.spec, {compute_capability(device_.spec)}),
                     evidence_of(device_), "") {
    options_.session.kept = std::make_shared<KeptWorkers>();
  }

  /// An interrupted run compresses no machine code: that takes 5 to 10 ms for each program, and the run that goes on
  /// drops most of them.
  CoverSummary run() {
    leave_tuned(options_.spare);
    for (const auto* sizes : {&options_.sample, &options_.further, &options_.spare}) {
      for (const AskedProblem& size : *sizes) problems_.push_back(size.problem);
    }
    CoverSummary summary;
    const std::vector<Problem> open = unsearched(problems_of(options_.sample));
    const std::vector<Problem> searched = in_state({CoverState::searched}, problems_of(options_.sample));
    const bool is_finished = open.empty() && searched.empty();
    const Clock::time_point begin = Clock::now();
    if (!is_finished) {  // A finished cover only chooses its kernels anew.
      const double missing = static_cast<double>(open.size()) / static_cast<double>(open.size() + searched.size());
      spend((1 - missing) * searching_s());
      const SessionSummary search =
          this->search(open, in_state({CoverState::open}, problems_of(options_.further)), missing * searching_s());
      summary.interrupted = search.interrupted || measure(choice_.for_sample(read()), kCrossShare);
      if (summary.interrupted) return summary;
      summary.unsearched = search.left;
    }
    const MeasuredKernels found = read();
    const double further_s = kFurtherShare * left_s();
    summary.interrupted =
        measure(problems_, choice_.for_further(found, is_finished), at_least_a_second(further_s), further_s) ||
        measure_spare(is_finished, summary.useful_s);
    if (summary.interrupted) return summary;
    options_.session.kept.reset();  // Nothing more is measured.
    const MeasuredKernels measured = read();
    std::set<std::size_t> programs = choice_.programs(measured);
    summary.useful = choice_.add_useful(measured, programs);
    Store store = Store::open(options_.session.database, OpenMode::read_write);
    compile_missing(measured, programs, preparation_, options_.session.jobs, store);
    CoverDecisions decisions = decide(options_, measured, programs, searched_by_any(summary.unsearched), store);
    drop_losing_code(problems_, preparation_, store);
    store.shrink();
    summary.kernels = std::move(decisions.kernels);
    summary.programs = programs.size();
    summary.sample = decisions.losses;
    summary.held_out = lost_held_out(options_, measured, device_.spec, store);
    say_excess(options_.session.budget_s, begin);
    return summary;
  }

  /// The first part of a run for the sizes of the session.
  SessionSummary search_share(int shares) {
    const std::vector<Problem> open = unsearched(options_.session.problems);
    const double budget_s = searching_s() / shares;
    const Clock::time_point begin = Clock::now();
    const SessionSummary summary = search(open, {}, budget_s);
    if (summary.interrupted) return summary;
    say_excess(budget_s, begin);
    hand_on(open, summary.left);
    Store::open(options_.session.database, OpenMode::read_write).shrink();
    return summary;
  }

 private:
  MeasuredKernels read() const {
    Store store = Store::open(options_.session.database, OpenMode::read_only);
    return {store, preparation_, problems_};
  }

  static void say_excess(double budget_s, Clock::time_point begin) {
    const std::string words = budget_excess(budget_s, seconds_since(begin));
    if (!words.empty()) log::warning("{}", words);
  }

  /// The part of the budget for searching all sizes of the sample, in seconds.
  double searching_s() const {
    const double budget_s = options_.session.budget_s;
    return std::max(kSearchShare * budget_s, budget_s - kRest_s);
  }

  /// What other runs have taken of the budget, in seconds.
  void spend(double time_s) {
    begin_ -= std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time_s));
  }

  double left_s() const { return options_.session.budget_s - seconds_since(begin_); }

  /// 0: no limit.
  double at_least_a_second(double budget_s) const {
    return options_.session.budget_s > 0 ? std::max(1.0, budget_s) : 0;
  }

  /// What a session is given that has so much time at most. 0: no limit.
  double latest_s(double most_s) const { return options_.session.budget_s > 0 ? std::max(0.001, most_s) : 0; }

  /// The problems that no cover has searched, though one may have measured kernels there.
  std::vector<Problem> unsearched(const std::vector<Problem>& problems) const {
    return in_state({CoverState::open, CoverState::measured}, problems);
  }

  /// What any cover has searched: this one all of the sample but what is left, others what the database says.
  std::vector<Problem> searched_by_any(const std::vector<Problem>& left) const {
    std::vector<Problem> found = in_state({CoverState::searched, CoverState::covered}, problems_);
    const std::vector<Problem> sample = problems_of(options_.sample);
    std::copy_if(sample.begin(), sample.end(), std::back_inserter(found),
                 [&](const Problem& problem) { return std::find(left.begin(), left.end(), problem) == left.end(); });
    return found;
  }

  /// Those of these problems with which a cover is so far.
  std::vector<Problem> in_state(const std::set<CoverState>& states, const std::vector<Problem>& problems) const {
    Store store = Store::open(options_.session.database, OpenMode::read_write);
    CurrentSources sources(preparation_.device(), preparation_.files());
    std::vector<Problem> found;
    std::copy_if(problems.begin(), problems.end(), std::back_inserter(found),
                 [&](const Problem& problem) { return states.contains(state_of(store, sources, problem)); });
    return found;
  }

  CoverState state_of(Store& store, CurrentSources& sources, const Problem& problem) const {
    const auto winner = store.find_winner(preparation_.key(problem));
    if (!winner || !preparation_.makes(winner->trial.key, sources)) return CoverState::open;
    return cover_state(winner->search);
  }

  /// Takes out what others than covers have decided: it was searched, and needs none of the few kernels.
  void leave_tuned(std::vector<AskedProblem>& sizes) const {
    Store store = Store::open(options_.session.database, OpenMode::read_write);
    std::erase_if(sizes, [&](const AskedProblem& size) {
      const auto winner = store.find_winner(preparation_.key(size.problem));
      return winner && cover_state(winner->search) == CoverState::open;
    });
  }

  /// Searches each of these problems by itself, after what won elsewhere, which is measured at the further ones, too.
  SessionSummary search(const std::vector<Problem>& problems, const std::vector<Problem>& further,
                        double budget_s) const {
    if (problems.empty()) return {};
    const Clock::time_point begin = Clock::now();
    if (measure_proven(problems, further, budget_s)) return {.interrupted = true};
    const double taken_s = seconds_since(begin);
    SessionOptions session = options_.session;
    session.problems = problems;
    session.budget_s = at_least_a_second(budget_s - taken_s);
    session.latest_s = latest_s(kLatest * budget_s - taken_s);
    session.is_part = true;
    return run_session(session);
  }

  /// Measures as many programs that won elsewhere as can be compiled in their part of that time for searches. True if
  /// interrupted. A prediction of them teaches nothing that a search does not see.
  bool measure_proven(const std::vector<Problem>& searched, const std::vector<Problem>& further,
                      double search_s) const {
    if (preparation_.evidence() != Evidence::measured) return false;
    const SessionOptions& session = options_.session;
    const double budget_s = kProvenShare * search_s;
    const double affordable = budget_s > 0 ? budget_s * compile_jobs(session.jobs) / kSourceS : kMostProven;
    std::vector<Problem> problems = searched;
    problems.insert(problems.end(), further.begin(), further.end());
    CandidateLists lists =
        proven_candidates(searched_families(session.families), session.only, problems, searched.size(), preparation_,
                          static_cast<std::size_t>(std::min<double>(affordable, kMostProven)));
    begin_with_common_programs(preparation_, problems, lists);
    return measure(problems, lists, 0, search_s);
  }

  /// Measures kernels that win at no other size, each at a spare one, for most of the time that is left. True if
  /// interrupted. Of a prediction the model knows all.
  bool measure_spare(bool only_new, double& time_s) const {
    const bool is_late = options_.session.budget_s > 0 && left_s() < kLeastSpare_s;
    if (preparation_.evidence() != Evidence::measured || is_late) return false;
    const Clock::time_point begin = Clock::now();
    std::vector<Problem> problems;
    CandidateLists lists;
    for (const SpareKernel& each : choice_.for_spare(read(), only_new)) {
      problems.push_back(problems_[each.size]);
      lists.push_back({each.candidate});
    }
    const double budget_s = kSpareShare * left_s();
    const bool is_interrupted = measure(problems, lists, at_least_a_second(budget_s), budget_s);
    time_s = seconds_since(begin);
    return is_interrupted;
  }

  /// What was found by now, but at sizes that were left, is what a run on the merged databases begins with.
  void hand_on(const std::vector<Problem>& problems, const std::vector<Problem>& left) const {
    Store store = Store::open(options_.session.database, OpenMode::read_write);
    std::vector<NewDecision> decided;
    for (const Problem& problem : problems) {
      if (std::find(left.begin(), left.end(), problem) != left.end()) continue;
      const auto winner = store.find_winner(preparation_.key(problem));
      if (winner) decided.push_back({winner->trial.key, stored_search(CoverState::searched), winner->candidates});
    }
    store.put_winners(decided);
  }

  /// Measures these candidates, by size, for a share of the time that is left. True if interrupted.
  bool measure(const CandidateLists& lists, double share) const {
    return measure(problems_, lists, at_least_a_second(share * left_s()), left_s());
  }

  /// Measures these candidates of these problems, in their order; those for which `most_s` leaves no time are left out,
  /// and with a budget candidates behind the first ones. True if interrupted.
  bool measure(const std::vector<Problem>& problems, const CandidateLists& lists, double budget_s,
               double most_s) const {
    SessionOptions session = options_.session;
    session.problems.clear();
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (!lists[i].empty()) session.problems.push_back(problems[i]);
    }
    if (session.problems.empty()) return false;
    session.budget_s = budget_s;
    session.latest_s = latest_s(most_s);
    session.is_part = true;
    session.in_order = true;
    session.mode = SessionMode::measure([&](const Problem& problem) {
      const auto at = std::find(problems.begin(), problems.end(), problem) - problems.begin();
      return lists[static_cast<std::size_t>(at)];
    });
    return run_session(session).interrupted;
  }

  CoverOptions options_;
  KernelChoice choice_;
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
