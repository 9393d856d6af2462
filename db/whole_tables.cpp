#include "db/whole_tables.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "db/columns.h"
#include "db/rows.h"

namespace mmtune {
namespace {

auto place_of(const TrialTime& trial) { return std::tuple(trial.problem_id, trial.evidence); }

}  // namespace

std::uint32_t TextNumbers::number_of(std::string_view text) {
  if (const auto known = find(text)) return *known;
  const auto added = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size())).first;
  texts_.push_back(&added->first);
  return added->second;
}

std::optional<std::uint32_t> TextNumbers::find(std::string_view text) const {
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

bool is_time(double us) { return us > 0 && rule::amount(us).empty(); }

WholeTables::WholeTables(Database& database, std::int64_t device_id) {
  read_problems(database);
  read_trials(database, device_id);
  by_problem_.resize(trials_.size());
  std::iota(by_problem_.begin(), by_problem_.end(), 0U);
  const auto stands_before = [&](std::uint32_t x, std::uint32_t y) {
    return place_of(trials_[x]) < place_of(trials_[y]);
  };
  // Merged and exported files have them in this order already.
  if (!std::is_sorted(by_problem_.begin(), by_problem_.end(), stands_before)) {
    std::sort(by_problem_.begin(), by_problem_.end(), stands_before);
  }
}

void WholeTables::read_problems(Database& database) {
  static const std::string statement =
      fmt::format("SELECT {}, problem.id FROM problem NOT INDEXED ORDER BY problem.id", sql::columns<Problem>());
  Rows rows = database.query(statement);
  while (rows.next()) {
    StoredProblem stored;
    Reader reader(rows);
    reader.read(stored.problem);
    reader.read(stored.id);
    if (reader.valid() && fault_of(stored.problem).empty()) problems_.push_back(stored);
  }
}

void WholeTables::read_trials(Database& database, std::int64_t device_id) {
  constexpr std::string_view kStatement =
      "SELECT problem_id, evidence, outcome = 0, median_us, kernel_id, binary_hash"
      " FROM trial NOT INDEXED WHERE device_id = :device AND outcome IN (0, 9) ORDER BY id";
  constexpr int kHashColumn = 5;
  Rows rows = database.query(kStatement, Named{"device", device_id});
  std::unordered_map<std::uint32_t, std::uint32_t> programs_of;  // the last program of each kernel: mostly the only one
  while (rows.next()) {
    TrialTime trial;
    Reader reader(rows);
    reader.read(trial.problem_id);
    reader.read(trial.evidence);
    reader.read(trial.is_ok);
    reader.read(trial.median_us);
    reader.read(trial.kernel_id);
    if (!reader.valid() || !is_time(trial.median_us)) continue;
    if (!rule::evidence(trial.evidence).empty()) continue;
    const std::string hash = rows.hash(kHashColumn).value_or("");
    const auto [program, is_new] = programs_of.try_emplace(trial.kernel_id);
    if (is_new || programs_.text(program->second) != hash) program->second = programs_.number_of(hash);
    trial.program = program->second;
    trials_.push_back(trial);
  }
}

const Problem* WholeTables::problem(std::int64_t id) const {
  const auto found =
      std::lower_bound(problems_.begin(), problems_.end(), id,
                       [](const StoredProblem& stored, std::int64_t wanted) { return stored.id < wanted; });
  return found == problems_.end() || found->id != id ? nullptr : &found->problem;
}

const TrialTime* WholeTables::OkTrials::find(std::int64_t problem_id, Evidence evidence, std::uint32_t kernel_id) {
  const std::tuple wanted(problem_id, evidence);
  const auto trial = [&](std::size_t i) -> const TrialTime& { return tables_.trials_[tables_.by_problem_[i]]; };
  const std::size_t end = tables_.by_problem_.size();
  while (at_ < end && place_of(trial(at_)) < wanted) ++at_;
  for (std::size_t i = at_; i < end && place_of(trial(i)) == wanted; ++i) {
    if (trial(i).kernel_id == kernel_id) return trial(i).is_ok ? &trial(i) : nullptr;
  }
  return nullptr;
}

}  // namespace mmtune
