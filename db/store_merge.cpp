// Merging: every conflict is decided by a total order over row contents, so that neither the order of merges nor
// repeating one changes the result.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tuple>
#include <utility>

#include "db/store_impl.h"

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
bool is_better(const Trial& a, const Trial& b) {
  const auto rank = [](const Trial& t) { return std::tuple(weight_of(t.outcome), t.timing.samples, t.created); };
  return rank(a) != rank(b) ? rank(a) > rank(b) : compare(a, b) > 0;
}

/// Whether there is machine code of the decision's kernel.
bool can_run(Database& database, const Decision& decision) {
  constexpr std::string_view kSelect =
      "SELECT 1 FROM compiled JOIN binary ON binary.hash = compiled.binary_hash AND binary.target = compiled.target"
      " WHERE compiled.source_hash = :source_hash AND binary.cubin IS NOT NULL";
  return database.query(kSelect, Named{"source_hash", decision.key.source_hash}).next();
}

/// One that can run here first, then the faster one, then the one with more behind it.
bool supersedes(Database& ours, const Decision& a, const Decision& b) {
  const auto rank = [&](const Decision& d) {
    return std::tuple(can_run(ours, d), -d.grounds.median_us, d.grounds.candidates, d.grounds.decided);
  };
  return rank(a) != rank(b) ? rank(a) > rank(b) : compare(a, b) > 0;
}

std::optional<Decision> find_decision(Database& database, const TrialKey& key) {
  static const std::string statement =
      fmt::format("SELECT {}{} WHERE {} AND {} AND winner.evidence = :evidence", sql::columns<Decision>(),
                  sql::from<Decision>(), sql::matches<DeviceKey>(), sql::matches<Problem>());
  Rows rows = database.query(statement, key.device, key.problem, Named{"evidence", key.evidence});
  return rows.next() ? valid_row<Decision>(rows) : std::nullopt;
}

/// Whose machine code is taken without asking. Rows of other files lose the name of theirs too, since it could name the
/// code of another kernel.
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

/// Hands over every sound row of T and counts the others.
template <Record T, class Take>
void for_each_row(Database& theirs, Images images, MergeReport& report, const Take& take) {
  std::int64_t sound = 0;
  Rows rows = theirs.query(fmt::format("SELECT {}{}", sql::columns<T>(images), sql::from<T>()));
  while (rows.next()) {
    auto record = valid_row<T>(rows, images);
    if (record && take(*record)) ++sound;
  }
  // Rows whose references lead nowhere are not even seen above.
  report.rejected += theirs.integer(fmt::format("SELECT count(*) FROM {}", kTable<T>)) - sound;
}

void merge_trials(Database& ours, Database& theirs, bool with_code, MergeReport& report) {
  for_each_row<Trial>(theirs, Images::no, report, [&](Trial& trial) {
    if (!with_code) trial.binary_hash.clear();
    const auto present = find_trial(ours, trial.key);
    ++(present ? report.trials_kept : report.trials_added);
    if (!present || is_better(trial, *present)) write_row(ours, trial);
    return true;
  });
}

void merge_binaries(Database& ours, Database& theirs, MergeReport& report) {
  constexpr std::string_view kComplete = "SELECT 1 FROM binary WHERE hash = :hash AND (cubin IS NOT NULL OR :empty)";
  for_each_row<Binary>(theirs, Images::yes, report, [&](const Binary& binary) {
    // The same hash is the same code: only a missing image is worth a write.
    const Named hash{"hash", binary.hash};
    if (!ours.query(kComplete, hash, Named{"empty", binary.cubin.empty()}).next()) write_binary(ours, binary);
    return true;
  });
}

std::optional<Compiled> find_compiled(Database& database, const Compiled& key) {
  static const std::string statement = fmt::format(
      "SELECT {} FROM compiled WHERE source_hash = :source_hash AND target = :target", sql::columns<Compiled>());
  Rows rows = database.query(statement, Named{"source_hash", key.source_hash}, Named{"target", key.target});
  return rows.next() ? valid_row<Compiled>(rows) : std::nullopt;
}

void merge_compiled(Database& ours, Database& theirs, MergeReport& report) {
  for_each_row<Compiled>(theirs, Images::no, report, [&](const Compiled& compiled) {
    const auto rank = [](const Compiled& c) { return std::tie(c.nvrtc, c.binary_hash); };
    if (!ours.query("SELECT 1 FROM binary WHERE hash = :hash", Named{"hash", compiled.binary_hash}).next())
      return false;
    const auto present = find_compiled(ours, compiled);
    if (!present || rank(compiled) > rank(*present)) write_row(ours, compiled);
    return true;
  });
}

void merge_winners(Database& ours, Database& theirs, MergeReport& report) {
  for_each_row<Decision>(theirs, Images::no, report, [&](const Decision& decision) {
    const auto present = find_decision(ours, decision.key);
    if (present && !supersedes(ours, decision, *present)) return true;
    if (!find_trial(ours, decision.key)) return false;
    write_row(ours, decision);
    ++report.winners_changed;
    return true;
  });
}

MergeReport merge(Database& ours, Database& theirs, bool with_code) {
  const Transaction snapshot(theirs, Transaction::Kind::read);
  theirs.integer("SELECT count(*) FROM device");  // waits for its lock now, not while it holds ours
  Transaction transaction(ours, Transaction::Kind::write);
  MergeReport report;
  if (with_code) {
    merge_binaries(ours, theirs, report);
    merge_compiled(ours, theirs, report);
  }
  merge_trials(ours, theirs, with_code, report);
  merge_winners(ours, theirs, report);
  transaction.commit();
  return report;
}

}  // namespace

MergeReport Store::merge_from(const std::string& other_path, ForeignCode code) {
  const std::lock_guard lock(impl_->mutex);
  if (is_same_file(path(), other_path)) refuse(other_path, "cannot be merged into itself", "name another file");
  const auto theirs = open_database(other_path, OpenMode::read_only, Trust::foreign);
  return merge(*impl_->database, *theirs, code == ForeignCode::take || is_own(theirs->path()));
}

MergeReport Store::merge_from(Store& other, ForeignCode code) {
  const std::scoped_lock lock(impl_->mutex, other.impl_->mutex);
  return merge(*impl_->database, *other.impl_->database, code == ForeignCode::take);
}

}  // namespace mmtune
