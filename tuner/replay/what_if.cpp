#include "tuner/replay/what_if.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "db/store.h"
#include "templates/family/families.h"
#include "tuner/replay/latest_trials.h"
#include "tuner/tune/lessons.h"
#include "tuner/tune/preparation.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {
namespace {

/// The stored trials of one problem that lie in the searched space.
class StoredTrials {
 public:
  StoredTrials(Store& store, const DeviceKey& device, const FamilySpaces& spaces) {
    trials_ = latest_trials(store.trials({.device = device, .problem = spaces.problem()}), [&](const Trial& trial) {
      return spaces.number({find_family(trial.key.family), Config::parse(trial.key.config)});
    });
  }

  const Trial* find(CandidateNumber candidate) const {
    const auto known = trials_.find(candidate);
    return known == trials_.end() ? nullptr : &known->second;
  }

  int count() const { return static_cast<int>(trials_.size()); }

  double best_us() const {
    double best = 0;
    for (const auto& [candidate, trial] : trials_) {
      const double time = trial.timing.median_us;
      if (trial.outcome == Outcome::ok && (best == 0 || time < best)) best = time;
    }
    return best;
  }

 private:
  std::map<CandidateNumber, Trial> trials_;
};

/// The compile times, each source's once.
class CompileTimes {
 public:
  CompileTimes(Store& store, int jobs) : store_(store), jobs_(jobs) {}

  double seconds(const Trial& trial) {
    if (!counted_.insert(trial.key.source_hash).second) return 0;
    const auto [known, is_new] = known_ms_.try_emplace(trial.binary_hash, 0);
    if (is_new && !trial.binary_hash.empty()) {
      known->second = store_.compile_ms(trial.binary_hash);
    }
    return known->second / 1000 / jobs_;
  }

  void start_again() { counted_.clear(); }

 private:
  Store& store_;
  int jobs_;
  std::set<std::string> counted_;
  std::map<std::string, double> known_ms_;  // the times by binary
};

double sampling_seconds(const Timing& timing) {
  const int samples = timing.samples + 1;  // One sample warms up.
  return timing.median_us * samples * std::max(1, timing.calls_per_sample) * 1e-6;
}

double gap_percent(const WhatIf& each) {
  if (!each.replay.best || each.stored_best_us == 0) return kUnknown;
  return 100 * (each.replay.last().best_us / each.stored_best_us - 1);
}

Cell time_cell(double time_us) { return {time_us > 0 ? time_us : kUnknown, 3}; }

Table step_table(std::initializer_list<const char*> more) {
  std::vector<Column> columns;
  for (const auto* name : {"strategy", "seed", "precision", "m", "n", "k", "trials", "seconds", "best_us"}) {
    columns.push_back(left(name));
  }
  for (const char* name : more) columns.push_back(left(name));
  return Table(std::move(columns));
}

/// How far a replay had come after so many trials.
std::vector<Cell> step_cells(const WhatIf& each, const std::string& strategy, std::size_t trials) {
  const Problem& p = each.problem;
  const ReplayStep step = trials == 0 ? ReplayStep{} : each.replay.steps[trials - 1];
  const Cell seconds(step.seconds, 3), best = time_cell(step.best_us);
  return {strategy, each.seed, to_string(p.precision), p.m, p.n, p.k, trials, seconds, best};
}

Table full_table(const std::vector<WhatIf>& replays, const std::string& strategy) {
  Table table = step_table({"exhaustive_us", "exhaustive_trials"});
  for (const WhatIf& each : replays) {
    auto cells = step_cells(each, strategy, each.replay.steps.size());
    cells.insert(cells.end(), {time_cell(each.stored_best_us), each.stored});
    table.add(std::move(cells));
  }
  return table;
}

Table friendly_table(const std::vector<WhatIf>& replays, const std::string& strategy) {
  Table table({left("problem"), left("strategy"), right("seed"), right("trials"), right("of stored"), right("unknown"),
               right("s"), right("best µs"), right("best stored µs"), right("gap %")});
  for (const WhatIf& each : replays) {
    const ReplayStep last = each.replay.last();
    const double gap = gap_percent(each);
    table.add({to_string(each.problem), strategy, each.seed, each.replay.steps.size(), each.stored, each.replay.unknown,
               Cell(last.seconds, 1), time_cell(last.best_us), time_cell(each.stored_best_us), Cell(gap, 2)},
              gap > 2 ? Tone::caution : Tone::plain);
  }
  return table;
}

/// A problem's space, what is known of it, and what a replay learns from that.
class KnownProblem {
 public:
  KnownProblem(const SessionOptions& options, const Problem& problem, Store& store)
      : spaces_(searched_families(options.families), problem, options.devices.front().spec, options.only),
        stored_(store, key_of(options.devices.front().spec), spaces_) {}

  const FamilySpaces& spaces() const { return spaces_; }
  const StoredTrials& stored() const { return stored_; }
  std::vector<Lesson> lessons() const { return fastest(lessons_); }
  void forget() { lessons_.clear(); }

  std::optional<Recollection> recall(CandidateNumber candidate, CompileTimes& compiling) {
    const Trial* trial = stored_.find(candidate);
    if (trial == nullptr) return std::nullopt;
    if (trial->outcome == Outcome::ok) lessons_.push_back({spaces_.describe(candidate), trial->timing.median_us});
    return Recollection{observation_of(*trial), compiling.seconds(*trial) + sampling_seconds(trial->timing)};
  }

 private:
  FamilySpaces spaces_;
  StoredTrials stored_;
  std::vector<Lesson> lessons_;
};

/// Replays one session.
std::vector<WhatIf> replay_session(const SessionOptions& options, std::uint64_t seed, std::vector<KnownProblem>& known,
                                   CompileTimes& compiling) {
  std::vector<WhatIf> replays;
  Favourites favourites;
  std::vector<Problem> searched;
  const int most_trials = effort_named(options.effort).most_trials;
  double left_s = options.budget_s > 0 ? options.budget_s : kUnlimited_s;
  for (KnownProblem& each : known) {
    const auto near = nearest(each.spaces().problem(), searched);
    const auto lessons = near ? known[*near].lessons() : std::vector<Lesson>{};
    const auto strategy =
        make_strategy(strategy_of(options, Evidence::measured),
                      {each.spaces(), most_trials, seed, each.spaces().numbers(favourites.candidates()), lessons});
    searched.push_back(each.spaces().problem());
    const auto recall = [&](CandidateNumber candidate) { return each.recall(candidate, compiling); };
    Replay done = replay(*strategy, recall, left_s / static_cast<double>(known.size() - replays.size()));
    if (done.best) favourites.add(each.spaces().candidate(*done.best));
    left_s -= done.last().seconds;
    replays.push_back({each.spaces().problem(), seed, std::move(done), each.stored().best_us(), each.stored().count()});
  }
  return replays;
}

}  // namespace

std::vector<WhatIf> what_if(const SessionOptions& options, const std::vector<std::uint64_t>& seeds) {
  Store store = Store::open(options.database, OpenMode::read_only);
  std::vector<KnownProblem> known;
  for (const Problem& problem : options.problems) known.emplace_back(options, problem, store);
  std::vector<WhatIf> replays;
  CompileTimes compiling(store, compile_jobs(options.jobs));
  for (const std::uint64_t seed : seeds) {
    compiling.start_again();
    for (KnownProblem& each : known) each.forget();
    for (WhatIf& each : replay_session(options, seed, known, compiling)) replays.push_back(std::move(each));
  }
  return replays;
}

Table what_if_table(const std::vector<WhatIf>& replays, const std::string& strategy, Format format) {
  return is_for_programs(format) ? full_table(replays, strategy) : friendly_table(replays, strategy);
}

Table curve_table(const std::vector<WhatIf>& replays, const std::string& strategy) {
  Table table = step_table({});
  for (const WhatIf& each : replays) {
    const auto& steps = each.replay.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool is_news = i == 0 || steps[i].best_us != steps[i - 1].best_us || i + 1 == steps.size();
      if (is_news) table.add(step_cells(each, strategy, i + 1));
    }
  }
  return table;
}

}  // namespace mmtune
