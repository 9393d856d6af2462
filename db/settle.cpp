#include "db/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <list>
#include <set>
#include <tuple>
#include <utility>

#include "db/rows.h"

namespace mmtune {
namespace {

constexpr double kSurely = 2;         // the number of standard deviations that count as sure
constexpr double kSlower = 1.003;     // the factor by which runs differ: see tuner/race/race.h
constexpr double kMedian = 1.253;     // A median of n samples errs by 1.253 / sqrt(n) of their standard deviation.
constexpr double kQuartiles = 1.349;  // the standard deviations from quartile to quartile

double variance_of_median(const Timing& timing) {
  if (timing.samples < 1) return 0;
  const double deviation = (timing.q3_us - timing.q1_us) / kQuartiles;
  return kMedian * kMedian * deviation * deviation / timing.samples;
}

/// Whether there is machine code of the decision's kernel, and `makes` knows no reason why it is that of another one.
bool can_run(Database& database, const TrialKey& key, const Trial& trial, const MakesDecision& makes) {
  const Binary code = code_of(database, key.source_hash, trial.binary_hash);
  return !code.hash.empty() && (!makes || makes(key, code));
}

/// Orders two decisions for one candidate: the faster one, then that with more behind it; the rest makes the order
/// total.
bool has_better_grounds(const Grounds& a, const Grounds& b) {
  const auto rank = [](const Grounds& g) { return std::tuple(-g.median_us, g.candidates, g.decided); };
  return rank(a) != rank(b) ? rank(a) > rank(b) : compare(a, b) > 0;
}

/// " WHERE …": rows of this table for a ProblemKey.
std::string of_problem(std::string_view table) {
  return fmt::format(
      " WHERE {0}.device_id IN (SELECT id FROM device WHERE {1}) AND {0}.problem_id IN (SELECT id FROM problem WHERE "
      "{2}) AND {0}.evidence = :evidence",
      table, sql::matches<DeviceKey>(), sql::matches<Problem>());
}

template <Record T>
std::vector<T> rows_of(Database& database, const ProblemKey& problem) {
  static const std::string statement = fmt::format("SELECT {}{}{} ORDER BY {}", sql::columns<T>(), sql::from<T>(),
                                                   of_problem(kTable<T>), sql::columns<KernelRow>());
  return valid_rows<T>(database.query(statement, problem));
}

/// A decision with all that the choice depends on.
struct Contender {
  Decision decision;
  Trial trial;
  bool can_run = false;
  bool near_tie = false;  ///< whether the samples leave open that it is as fast as the fastest

  bool is_right() const { return trial.outcome == Outcome::ok; }
  double time_us() const { return is_right() ? trial.timing.median_us : decision.grounds.median_us; }
};

bool is_faster(const Contender& a, const Contender& b) {
  if (a.can_run != b.can_run) return a.can_run;
  return a.time_us() != b.time_us() ? a.time_us() < b.time_us() : compare(a.decision, b.decision) > 0;
}

bool may_be_as_fast(const Contender& fastest, const Contender& other) {
  return fastest.is_right() && other.is_right() && fastest.can_run == other.can_run &&
         is_near_tie(fastest.trial.timing, other.trial.timing);
}

/// Puts the one that holds first, and finds near ties.
void choose(std::list<Contender>& contenders) {
  contenders.sort(is_faster);
  const Contender& fastest = contenders.front();
  for (Contender& each : contenders) each.near_tie = may_be_as_fast(fastest, each);
  const auto holds = std::max_element(contenders.begin(), contenders.end(), [](const Contender& a, const Contender& b) {
    const auto samples = [](const Contender& each) { return each.near_tie ? each.trial.timing.samples : -1; };
    return samples(a) < samples(b);  // The first of equal ones is the faster.
  });
  contenders.splice(contenders.begin(), contenders, holds);
}

/// A list, since these are large to move.
std::list<Contender> contenders_of(Database& database, const ProblemKey& problem, const MakesDecision& makes) {
  std::vector<Decision> decisions;
  if (const auto winner = find_decision(database, problem)) decisions.push_back(*winner);
  for (const Rival& rival : rivals_of(database, problem)) decisions.push_back({rival.key, rival.grounds});
  std::list<Contender> contenders;
  for (const Decision& decision : decisions) {
    if (auto trial = find_trial(database, decision.key)) {
      const bool runs = can_run(database, decision.key, *trial, makes);
      contenders.push_back({decision, *std::move(trial), runs});
    }
  }
  return contenders;
}

/// Whether all other decisions are slower.
bool settle_problem(Database& database, const ProblemKey& problem, const MakesDecision& makes,
                    std::vector<Problem>& near_ties) {
  std::list<Contender> contenders = contenders_of(database, problem, makes);
  if (contenders.empty()) return false;
  choose(contenders);
  forget_rivals(database, problem);
  write_row(database, contenders.front().decision);
  bool has_near_tie = false;
  for (auto each = std::next(contenders.begin()); each != contenders.end(); ++each) {
    const auto& [decision, trial, runs, near_tie] = *each;
    const bool is_to_race = near_tie && problem.evidence == Evidence::measured;
    write_row(database, Rival{decision.key, decision.grounds, is_to_race});
    has_near_tie = has_near_tie || is_to_race;
  }
  if (has_near_tie) near_ties.push_back(problem.problem);
  return !has_near_tie && contenders.size() > 1;
}

}  // namespace

bool is_near_tie(const Timing& best, const Timing& other) {
  const double deviation = std::sqrt(variance_of_median(best) + variance_of_median(other));
  if (best.conditions.mode == "model") return other.median_us <= best.median_us;
  return other.median_us - kSurely * deviation <= kSlower * best.median_us;
}

std::optional<Decision> find_decision(Database& database, const ProblemKey& problem) {
  const auto rows = rows_of<Decision>(database, problem);
  return rows.empty() ? std::nullopt : std::optional(rows.front());
}

std::vector<Rival> rivals_of(Database& database, const ProblemKey& problem) {
  return rows_of<Rival>(database, problem);
}

void forget_rivals(Database& database, const ProblemKey& problem) {
  static const std::string statement = "DELETE FROM rival" + of_problem("rival");
  database.run(statement, problem);
}

void add_decision(Database& database, const Decision& decision) {
  const auto winner = find_decision(database, decision.key.problem_key());
  if (!winner) return write_row(database, decision);
  if (compare(winner->key, decision.key) == 0) {
    if (has_better_grounds(decision.grounds, winner->grounds)) write_row(database, decision);
    return;
  }
  const std::vector<Rival> rivals = rivals_of(database, decision.key.problem_key());
  const auto same = std::find_if(rivals.begin(), rivals.end(),
                                 [&](const Rival& rival) { return compare(rival.key, decision.key) == 0; });
  if (same == rivals.end() || has_better_grounds(decision.grounds, same->grounds)) {
    write_row(database, Rival{decision.key, decision.grounds, false});
  }
}

std::int64_t settle(Database& database, const MakesDecision& makes, std::vector<Problem>& near_ties) {
  static const std::string statement = fmt::format("SELECT {}{}", sql::columns<Rival>(), sql::from<Rival>());
  const auto is_before = [](const ProblemKey& a, const ProblemKey& b) { return compare(a, b) < 0; };
  std::set<ProblemKey, decltype(is_before)> problems;
  for (const Rival& rival : valid_rows<Rival>(database.query(statement))) problems.insert(rival.key.problem_key());
  return std::count_if(problems.begin(), problems.end(),
                       [&](const ProblemKey& problem) { return settle_problem(database, problem, makes, near_ties); });
}

}  // namespace mmtune
