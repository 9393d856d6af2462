#include "tuner/study/replay.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "db/store.h"
#include "templates/families.h"
#include "tuner/search/rounds.h"
#include "tuner/tune/lessons.h"
#include "tuner/tune/preparation.h"

namespace mmtune {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The stored trials of one problem that lie in the searched space.
class StoredTrials {
 public:
  StoredTrials(Store& store, const DeviceKey& device, const Problem& problem, const Spaces& spaces) {
    RowFilter filter;
    filter.device = device;
    filter.problem = problem;
    auto trials = store.trials(filter);
    const auto is_measured = [](const Trial& trial) { return trial.key.evidence == Evidence::measured; };
    if (std::any_of(trials.begin(), trials.end(), is_measured)) std::erase_if(trials, std::not_fn(is_measured));
    for (Trial& trial : trials) {
      const Family* family = find_family(trial.key.family);
      if (family == nullptr || !spaces.contains({family, Config::parse(trial.key.config), 0})) continue;
      const auto [known, is_new] = trials_.try_emplace(trial.key.family + ' ' + trial.key.config, trial);
      if (!is_new && trial.created > known->second.created) known->second = std::move(trial);
    }
  }

  const Trial* find(const Candidate& candidate) const {
    const auto known = trials_.find(key_of(candidate));
    return known == trials_.end() ? nullptr : &known->second;
  }

  int count() const { return static_cast<int>(trials_.size()); }

  double best_us() const {
    double best = 0;
    for (const auto& [key, trial] : trials_) {
      const double time = trial.timing.median_us;
      if (trial.outcome == Outcome::ok && (best == 0 || time < best)) best = time;
    }
    return best;
  }

 private:
  std::map<std::string, Trial> trials_;
};

/// Compile times, each source's once.
class CompileTimes {
 public:
  CompileTimes(Store& store, int jobs) : store_(store), jobs_(jobs) {}

  double seconds(const Trial& trial) {
    if (!counted_.insert(trial.key.source_hash).second) return 0;
    const auto [known, is_new] = known_ms_.try_emplace(trial.binary_hash, 0);
    if (is_new && !trial.binary_hash.empty()) {
      if (const auto binary = store_.find_binary(trial.binary_hash)) known->second = binary->compile_ms;
    }
    return known->second / 1000 / jobs_;
  }

  void start_again() { counted_.clear(); }

 private:
  Store& store_;
  int jobs_;
  std::set<std::string> counted_;
  std::map<std::string, double> known_ms_;  // by binary
};

double sampling_seconds(const Timing& timing) {
  const int samples = timing.samples + 1;  // one warms up
  return timing.median_us * samples * std::max(1, timing.calls_per_sample) * 1e-6;
}

int jobs_of(const SessionOptions& options) {
  return options.jobs > 0 ? options.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

double gap_percent(const Replay& replay) {
  if (!replay.best || replay.stored_best_us == 0) return kUnknown;
  return 100 * (replay.steps.back().best_us / replay.stored_best_us - 1);
}

Real time_cell(double time_us) { return {time_us > 0 ? time_us : kUnknown, 3}; }

std::vector<Cell> identity(const Replay& replay, const std::string& strategy) {
  const Problem& problem = replay.problem;
  return {
      strategy, static_cast<std::int64_t>(replay.seed), std::string(to_string(problem.precision)), problem.m, problem.n,
      problem.k};
}

std::vector<Cell> progress(std::size_t trials, const ReplayStep& step) {
  return {static_cast<std::int64_t>(trials), Real{step.seconds, 3}, time_cell(step.best_us)};
}

std::vector<Cell> joined(std::vector<Cell> cells, const std::vector<Cell>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

ReplayStep last_step(const Replay& replay) { return replay.steps.empty() ? ReplayStep{} : replay.steps.back(); }

Table full_table(const std::vector<Replay>& replays, const std::string& strategy) {
  Table table({{"strategy"},
               {"seed"},
               {"precision"},
               {"m"},
               {"n"},
               {"k"},
               {"trials"},
               {"seconds"},
               {"best_us"},
               {"exhaustive_us"},
               {"exhaustive_trials"}});
  for (const Replay& replay : replays) {
    const std::vector<Cell> cells =
        joined(identity(replay, strategy), progress(replay.steps.size(), last_step(replay)));
    table.add(joined(cells, {time_cell(replay.stored_best_us), std::int64_t{replay.stored}}));
  }
  return table;
}

Table friendly_table(const std::vector<Replay>& replays, const std::string& strategy) {
  constexpr auto kRight = Align::right;
  Table table({{"problem"},
               {"strategy"},
               {"seed", kRight},
               {"trials", kRight},
               {"of stored", kRight},
               {"unknown", kRight},
               {"s", kRight},
               {"best µs", kRight},
               {"best stored µs", kRight},
               {"gap %", kRight}});
  for (const Replay& replay : replays) {
    const ReplayStep last = last_step(replay);
    const double gap = gap_percent(replay);
    table.add(
        {to_string(replay.problem), strategy, static_cast<std::int64_t>(replay.seed),
         static_cast<std::int64_t>(replay.steps.size()), std::int64_t{replay.stored}, std::int64_t{replay.unknown},
         Real{last.seconds, 1}, time_cell(last.best_us), time_cell(replay.stored_best_us), Real{gap, 2}},
        gap > 2 ? Tone::caution : Tone::plain);
  }
  return table;
}

}  // namespace

Replay replay(Strategy& strategy, const Recall& recall, double budget_s) {
  Replay replay;
  ReplayStep now;
  Rounds rounds(strategy);
  std::deque<Candidate> waiting;
  for (std::size_t number = 0;; ++number) {
    for (auto candidates = rounds.next(); !candidates.empty(); candidates = rounds.next()) {
      waiting.insert(waiting.end(), candidates.begin(), candidates.end());
    }
    const bool enough = now.seconds > budget_s && replay.best;
    if (waiting.empty() || enough) return replay;
    const Candidate candidate = std::move(waiting.front());
    waiting.pop_front();
    const auto known = recall(candidate);
    if (!known) {
      ++replay.unknown;
      rounds.settle(number, std::nullopt);
      continue;
    }
    const double time = known->trial.timing.median_us;
    now.seconds += known->seconds;
    if (known->trial.outcome == Outcome::ok && (!replay.best || time < now.best_us)) {
      now.best_us = time;
      replay.best = candidate;
    }
    replay.steps.push_back(now);
    rounds.settle(number, known->trial);
  }
}

std::vector<Replay> what_if(const SessionOptions& options, const std::vector<std::uint64_t>& seeds) {
  Store store = Store::open(options.database, OpenMode::read_only);
  const auto families = searched_families(options.families);
  std::vector<Spaces> spaces;
  std::vector<StoredTrials> stored;
  for (const Problem& problem : options.problems) {
    spaces.emplace_back(families, problem, options.devices.front().spec, options.only);
    stored.emplace_back(store, key_of(options.devices.front().spec), problem, spaces.back());
  }
  std::vector<Replay> replays;
  CompileTimes compiling(store, jobs_of(options));
  for (const std::uint64_t seed : seeds) {
    Favourites favourites;
    std::vector<Problem> searched;
    std::vector<std::vector<Lesson>> lessons;  // of each of these
    compiling.start_again();
    double left_s = options.budget_s > 0 ? options.budget_s : kUnlimited_s;
    for (std::size_t i = 0; i < options.problems.size(); ++i) {
      const auto recall = [&](const Candidate& candidate) -> std::optional<Recollection> {
        const Trial* trial = stored[i].find(candidate);
        if (trial == nullptr) return std::nullopt;
        if (trial->outcome == Outcome::ok) {
          lessons.back().push_back(
              {candidate, spaces[i].predict(*candidate.family, candidate.config), trial->timing.median_us});
        }
        return Recollection{*trial, compiling.seconds(*trial) + sampling_seconds(trial->timing)};
      };
      const auto near = nearest(options.problems[i], searched);
      const auto strategy = make_strategy(strategy_of(options, Evidence::measured),
                                          {spaces[i], effort_named(options.effort), seed, favourites.candidates(),
                                           near ? fastest(lessons[*near]) : std::vector<Lesson>{}});
      searched.push_back(options.problems[i]);
      lessons.emplace_back();
      Replay done = replay(*strategy, recall, left_s / static_cast<double>(options.problems.size() - i));
      done.problem = options.problems[i];
      done.seed = seed;
      done.stored_best_us = stored[i].best_us();
      done.stored = stored[i].count();
      if (done.best) favourites.add(*done.best);
      left_s -= last_step(done).seconds;
      replays.push_back(std::move(done));
    }
  }
  return replays;
}

Table replays_table(const std::vector<Replay>& replays, const std::string& strategy, Format format) {
  return format == Format::csv || format == Format::json ? full_table(replays, strategy)
                                                         : friendly_table(replays, strategy);
}

Table curve_table(const std::vector<Replay>& replays, const std::string& strategy) {
  Table table({{"strategy"}, {"seed"}, {"precision"}, {"m"}, {"n"}, {"k"}, {"trials"}, {"seconds"}, {"best_us"}});
  for (const Replay& replay : replays) {
    const auto& steps = replay.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool is_news = i == 0 || steps[i].best_us != steps[i - 1].best_us || i + 1 == steps.size();
      if (is_news) table.add(joined(identity(replay, strategy), progress(i + 1, steps[i])));
    }
  }
  return table;
}

}  // namespace mmtune
