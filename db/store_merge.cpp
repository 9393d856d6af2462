// Merging: every conflict is decided by a total order over row contents, so that neither the order of merges nor
// repeating one changes the result.
#include <fmt/format.h>
#include <mmtune/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <tuple>
#include <utility>

#include "db/store_impl.h"
#include "db/validate.h"

namespace mmtune {

namespace {

/// A fault found in a kernel outranks any success: serving a wrong kernel is worse than tuning again.
int weight_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::wrong_result:
    case Outcome::guard_violation:
    case Outcome::unstable:
      return 3;
    case Outcome::ok:
      return 2;
    case Outcome::too_slow:
      return 1;
    default:
      return 0;
  }
}

/// Better verified first, then newer; the rest only makes the order total.
auto rank_of(const Trial& trial) {
  const Timing& t = trial.timing;
  const Environment& e = trial.environment;
  return std::tuple(weight_of(trial.outcome), t.samples, trial.created, trial.outcome, t.median_us, t.q1_us, t.q3_us,
                    t.min_us, t.calls_per_sample, t.mode, t.sm_clock_mhz, trial.error_share, trial.deterministic,
                    trial.occupancy, trial.smem_bytes, trial.note, e.driver, e.nvrtc, e.commit, e.device_uuid,
                    trial.binary_hash, t.memory_clock_mhz, t.throttle, t.co_tenants, t.disturbed, t.clock_limit_mhz,
                    t.power_limit_w);
}

struct Decision {
  TrialKey key;
  double median_us = 0;
  std::string search;
  int candidates = 0;
  std::string decided;
};

/// Faster first, then the one with more behind it.
bool supersedes(const Decision& a, const Decision& b) {
  const auto rank = [](const Decision& d) {
    return std::tie(d.candidates, d.decided, d.key.family, d.key.config, d.key.source_hash, d.search);
  };
  return a.median_us != b.median_us ? a.median_us < b.median_us : rank(a) > rank(b);
}

#define MMTUNE_SELECT_DECISION                                                                         \
  "SELECT " MMTUNE_KEY_COLUMNS                                                                         \
  ", t.median_us, t.search, t.candidates, t.decided FROM winner t JOIN device d ON d.id = t.device_id" \
  " JOIN problem p ON p.id = t.problem_id"

std::optional<Decision> valid_decision(const Rows& rows) {
  Reader reader(rows);
  Decision decision;
  decision.key = read_key(reader);
  decision.median_us = reader.real();
  decision.search = reader.text();
  decision.candidates = reader.integer();
  decision.decided = reader.text();
  const bool valid = reader.valid() && fault_of(decision.key).empty() &&
                     fault_of_decision(decision.search, decision.candidates).empty() &&
                     std::isfinite(decision.median_us) && decision.median_us > 0 && is_utc_time(decision.decided);
  return valid ? std::optional(std::move(decision)) : std::nullopt;
}

std::optional<Decision> find_decision(Database& database, const TrialKey& key) {
  Rows rows = database.query(MMTUNE_SELECT_DECISION MMTUNE_WHERE_PLACE " AND t.evidence = ?13", key.device, key.problem,
                             key.evidence);
  return rows.next() ? valid_decision(rows) : std::nullopt;
}

/// False if the trial is not there.
bool write_decision(Database& database, const Decision& decision) {
  return database.run(
             "INSERT OR REPLACE INTO winner (device_id, problem_id, evidence, family, config, source_hash, median_us,"
             " search, candidates, decided) SELECT t.device_id, t.problem_id, t.evidence, t.family, t.config,"
             " t.source_hash, ?17, ?18, ?19, ?20" MMTUNE_TRIAL_TABLES MMTUNE_WHERE_KEY,
             decision.key, decision.median_us, decision.search, decision.candidates, decision.decided) == 1;
}

/// Machine code is taken only from the user's own databases; elsewhere rows lose the name of theirs too, since it could
/// name the code of another kernel.
bool is_own(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && status.st_uid == geteuid();
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

void merge_trials(Database& ours, Database& theirs, bool with_code, MergeReport& report) {
  Rows rows = theirs.query("SELECT " MMTUNE_TRIAL_COLUMNS MMTUNE_TRIAL_TABLES);
  std::int64_t accepted = 0;
  while (rows.next()) {
    auto trial = valid_trial(rows);
    if (!trial) continue;
    ++accepted;
    if (!with_code) trial->binary_hash.clear();
    const auto present = find_trial(ours, trial->key);
    ++(present ? report.trials_kept : report.trials_added);
    if (!present || rank_of(*trial) > rank_of(*present)) write_trial(ours, *trial);
  }
  // Rows whose references lead nowhere are not even seen above.
  report.rejected += theirs.integer("SELECT count(*) FROM trial") - accepted;
}

void merge_binaries(Database& ours, Database& theirs, MergeReport& report) {
  Rows rows = theirs.query("SELECT " MMTUNE_BINARY_COLUMNS ", coalesce(b.cubin, x'') FROM binary b");
  while (rows.next()) {
    Reader reader(rows);
    Binary binary = read_binary(reader);
    binary.cubin = reader.blob();
    if (!reader.valid() || !fault_of(binary).empty()) {
      ++report.rejected;
      continue;
    }
    // The same hash is the same code: only a missing image is worth a write.
    const bool complete = ours.query("SELECT 1 FROM binary WHERE hash = ?1 AND (cubin IS NOT NULL OR ?2)", binary.hash,
                                     binary.cubin.empty())
                              .next();
    if (!complete) write_binary(ours, binary);
  }
}

void merge_compiled(Database& ours, Database& theirs) {
  Rows rows = theirs.query(
      "SELECT c.source_hash, c.target, c.binary_hash, c.nvrtc FROM compiled c JOIN binary b ON b.hash = c.binary_hash");
  while (rows.next()) {
    Reader reader(rows);
    const std::string source = reader.text();
    const std::string target = reader.text();
    const std::string binary = reader.text();
    const std::string nvrtc = reader.text();
    if (!reader.valid() || !is_hash(source) || !is_hash(target) || !is_label(nvrtc)) continue;
    ours.run(
        "INSERT INTO compiled (source_hash, target, binary_hash, nvrtc)"
        " SELECT ?1, ?2, hash, ?4 FROM binary WHERE hash = ?3 ON CONFLICT DO UPDATE"
        " SET binary_hash = excluded.binary_hash, nvrtc = excluded.nvrtc"
        " WHERE (excluded.nvrtc, excluded.binary_hash) > (compiled.nvrtc, compiled.binary_hash)",
        source, target, binary, nvrtc);
  }
}

void merge_winners(Database& ours, Database& theirs, MergeReport& report) {
  Rows rows = theirs.query(MMTUNE_SELECT_DECISION);
  std::int64_t accepted = 0;
  while (rows.next()) {
    const auto decision = valid_decision(rows);
    if (!decision) continue;
    const auto present = find_decision(ours, decision->key);
    if (present && !supersedes(*decision, *present)) {
      ++accepted;
    } else if (write_decision(ours, *decision)) {
      ++accepted;
      ++report.winners_changed;
    }
  }
  report.rejected += theirs.integer("SELECT count(*) FROM winner") - accepted;
}

}  // namespace

MergeReport Store::merge_from(const std::string& other_path) {
  const std::lock_guard lock(impl_->mutex);
  Database& ours = *impl_->database;
  if (is_same_file(ours.path(), other_path)) {
    throw DatabaseError(fmt::format("database {}: cannot be merged into itself; name another file", other_path));
  }
  const auto theirs = open_database(other_path, OpenMode::read_only, Trust::foreign);
  const bool with_code = is_own(theirs->path());
  const Transaction snapshot(*theirs, Transaction::Kind::read);
  Transaction transaction(ours, Transaction::Kind::write);
  MergeReport report;
  if (with_code) {
    merge_binaries(ours, *theirs, report);
    merge_compiled(ours, *theirs);
  }
  merge_trials(ours, *theirs, with_code, report);
  merge_winners(ours, *theirs, report);
  transaction.commit();
  return report;
}

}  // namespace mmtune
