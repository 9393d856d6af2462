// Merging: every conflict is decided by a total order over row contents, so that neither the order of merges nor
// repeating one changes the result.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <tuple>
#include <utility>

#include "db/renumber.h"
#include "db/settle.h"
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

/// Whether the machine code of the file is taken without asking. Rows of other files lose the name of theirs too, since
/// it could name the code of another kernel.
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

/// Hands over every sound row of T, without images. `take` says why it refuses one; the others are counted by reason.
template <Record T, class Take>
void for_each_row(Database& theirs, MergeReport& report, const Take& take) {
  std::int64_t seen = 0;
  static const std::string select = fmt::format("SELECT {}{}", sql::columns<T>(Images::no), sql::from<T>());
  static const std::string count = fmt::format("SELECT count(*) FROM {}", kTable<T>);
  const auto reject = [&](std::string_view reason, std::int64_t rows) {
    report.rejected += rows;
    report.reasons[fmt::format("{}: {}", kTable<T>, reason)] += rows;
  };
  Rows rows = theirs.query(select);
  while (rows.next()) {
    ++seen;
    T record;
    Reader reader(rows);
    reader.read(record);
    std::string fault = reader.valid() ? fault_of(record) : "a value of a wrong type or out of range";
    if (fault.empty()) fault = take(record);
    if (!fault.empty()) reject(fault, 1);
  }
  const std::int64_t dangling = theirs.integer(count) - seen;
  if (dangling > 0) reject("refers to rows that do not exist", dangling);
}

/// `latest`: times of day after this are those of a wrong clock, and would make a row the newest for ever.
void merge_trials(Database& ours, Database& theirs, bool with_code, const std::string& latest, MergeReport& report) {
  for_each_row<Trial>(theirs, report, [&](Trial& trial) -> std::string {
    if (trial.created > latest) return "created: more than a day in the future";
    if (!with_code) trial.binary_hash.clear();
    const auto present = find_trial(ours, trial.key);
    ++(present ? report.trials_kept : report.trials_added);
    if (!present || is_better(trial, *present)) write_row(ours, trial);
    return "";
  });
}

/// What is known of the program with this hash, without its image.
struct KnownBinary {
  Binary facts;
  bool has_image = false;
};

std::optional<KnownBinary> known_binary(Database& database, const std::string& hash) {
  static const std::string statement =
      fmt::format("SELECT {}, cubin IS NOT NULL FROM binary WHERE hash = :hash", sql::columns<Binary>());
  Rows rows = database.query(statement, Named{"hash", Hash{hash}});
  if (!rows.next()) return std::nullopt;
  KnownBinary known;
  Reader reader(rows);
  reader.read(known.facts);
  reader.read(known.has_image);
  if (!reader.valid()) return std::nullopt;
  return known;
}

/// The same hash is the same code: an image is read, and checked, only where it is missing. What else may differ is how
/// long the compiler took.
void merge_binaries(Database& ours, Database& theirs, MergeReport& report) {
  for_each_row<Binary>(theirs, report, [&](const Binary& facts) -> std::string {
    const auto known = known_binary(ours, facts.hash);
    Binary best = known && compare(known->facts, facts) < 0 ? known->facts : facts;
    if (!known || !known->has_image) {
      const auto theirs_whole = find_binary(theirs, facts.hash);
      if (!theirs_whole) return "hash: not that of its machine code";
      best.cubin = theirs_whole->cubin;
    }
    if (!known || !best.cubin.empty() || compare(best, known->facts) != 0) write_binary(ours, best);
    return "";
  });
}

std::optional<Compiled> find_compiled(Database& database, const Compiled& key) {
  static const std::string statement = fmt::format(
      "SELECT {} FROM compiled WHERE source_hash = :source_hash AND target = :target", sql::columns<Compiled>());
  Rows rows = database.query(statement, Named{"source_hash", Hash{key.source_hash}}, Named{"target", key.target});
  return rows.next() ? valid_row<Compiled>(rows) : std::nullopt;
}

void merge_compiled(Database& ours, Database& theirs, MergeReport& report) {
  for_each_row<Compiled>(theirs, report, [&](const Compiled& compiled) -> std::string {
    const auto rank = [](const Compiled& c) { return std::tie(c.nvrtc, c.binary_hash); };
    if (!ours.query("SELECT 1 FROM binary WHERE hash = :hash", Named{"hash", Hash{compiled.binary_hash}}).next()) {
      return "binary_hash: of no program that was taken";
    }
    const auto present = find_compiled(ours, compiled);
    if (!present || rank(compiled) > rank(*present)) write_row(ours, compiled);
    return "";
  });
}

void merge_decisions(Database& ours, Database& theirs, const std::string& latest, MergeReport& report) {
  const auto take = [&](const auto& row) -> std::string {
    if (row.grounds.decided > latest) return "decided: more than a day in the future";
    if (!find_trial(ours, row.key)) return "its trial was not taken";
    add_decision(ours, {row.key, row.grounds});
    return "";
  };
  for_each_row<Decision>(theirs, report, take);
  for_each_row<Rival>(theirs, report, take);
}

/// A merge of any number of databases, all or nothing.
class Merge {
 public:
  Merge(Database& ours, const MakesDecision& makes) : ours_(ours), makes_(makes) {}

  void add(Database& theirs, bool with_code) {
    const Transaction snapshot(theirs, Transaction::Kind::read);
    theirs.integer("SELECT count(*) FROM device");  // It waits for the first one's lock now, not while it holds ours.
    begin();
    if (with_code) {
      merge_binaries(ours_, theirs, report_);
      merge_compiled(ours_, theirs, report_);
    }
    merge_trials(ours_, theirs, with_code, latest_, report_);
    merge_decisions(ours_, theirs, latest_, report_);
  }

  MergeReport finish() {
    begin();
    report_.settled = settle(ours_, makes_, report_.near_ties);
    report_.winners_changed =
        ours_.integer("SELECT count(*) FROM (SELECT * FROM main.winner EXCEPT SELECT * FROM winner_before)");
    ours_.exec("DROP TABLE winner_before");
    renumber(ours_);
    transaction_->commit();
    return std::move(report_);
  }

 private:
  void begin() {
    if (transaction_) return;
    transaction_.emplace(ours_, Transaction::Kind::write);
    ours_.exec("CREATE TEMP TABLE winner_before AS SELECT * FROM main.winner");
  }

  /// Clocks of a fleet differ, by a time zone if one is set wrong.
  static constexpr std::chrono::hours kClocksDiffer{24};

  Database& ours_;
  const MakesDecision& makes_;
  std::string latest_ = utc_text(std::chrono::system_clock::now() + kClocksDiffer);
  std::optional<Transaction> transaction_;
  MergeReport report_;
};

}  // namespace

void Store::require_mergeable(const std::vector<std::string>& paths) {
  for (const std::string& other : paths) open_database(other, OpenMode::read_only, Trust::foreign);
}

MergeReport Store::merge_from(const std::vector<std::string>& paths, ForeignCode code, const MakesDecision& makes) {
  const std::lock_guard lock(impl_->mutex);
  for (const std::string& other : paths) {
    if (is_same_file(path(), other)) refuse(other, "cannot be merged into itself", "name other files");
  }
  Merge merge(*impl_->database, makes);
  for (const std::string& other : paths) {
    const auto theirs = open_database(other, OpenMode::read_only, Trust::foreign);
    merge.add(*theirs, code == ForeignCode::take || is_own(theirs->path()));
  }
  return merge.finish();
}

MergeReport Store::merge_from(Store& other, ForeignCode code, const MakesDecision& makes) {
  const std::scoped_lock lock(impl_->mutex, other.impl_->mutex);
  Merge merge(*impl_->database, makes);
  merge.add(*other.impl_->database, code == ForeignCode::take);
  return merge.finish();
}

}  // namespace mmtune
