// The database of trials, binaries and winners: the only place with SQL. The file format is db/schema.sql.
//
// Threads may share a Store: its functions take turns. Writers use BEGIN IMMEDIATE transactions with full durability:
// what put() returned from is on disk. Any number of processes may read and write one file. Every function throws
// DatabaseError naming the file, the cause and the remedy; none ever deletes or renames a database. A row with values
// that no mmtune writes is skipped and reported by check(). A Store does not survive fork(): the child opens its own.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/launch_record.h"
#include "db/opening.h"
#include "db/served.h"
#include "db/trial.h"

namespace mmtune {

/// Which rows to list; unset members match everything.
struct RowFilter {
  std::optional<DeviceKey> device{};
  std::optional<Precision> precision{};
  std::optional<Layout> layout{};
  std::optional<Problem> problem{};
  std::optional<Evidence> evidence{};
  std::optional<std::string> family{};
};

/// A decision to be set, as by Store::put_winner().
struct NewDecision {
  TrialKey trial;
  std::string search;
  int candidates = 0;
};

struct CheckReport {
  std::vector<std::string> faults;  ///< empty: the database is sound
  std::int64_t trials = 0;
  std::int64_t binaries = 0;
  std::int64_t winners = 0;
};

/// What becomes of the machine code in a file of another user, who may have made it of anything.
enum class ForeignCode { compile_again, take };

struct MergeReport {
  std::int64_t trials_added = 0;
  std::int64_t trials_kept = 0;  ///< the number of trials on both sides, of which the better verified one stays
  std::int64_t winners_changed = 0;
  std::int64_t rejected = 0;                      ///< the number of rows of any table with values that no mmtune writes
  std::map<std::string, std::int64_t> reasons{};  ///< the reasons for these, with their numbers
  std::int64_t settled = 0;  ///< the number of problems with other decisions, all of which the samples say are slower
  std::vector<Problem> near_ties{};  ///< the problems with other decisions that may be as fast
};

/// Which rows go; cubins that no remaining row names do in any case.
struct PruneRules {
  bool failed = false;  ///< rows whose outcome is not ok
  bool predicted = false;
  bool set_aside = false;      ///< crashed and timed-out rows of suspects and of lost compiles, which are forgotten
  bool stale_sources = false;  ///< rows whose source hash is not in `live_sources`
  std::vector<std::string> live_sources{};
  bool losing_code = false;                 ///< machine code of candidates that lost: see Store::drop_losing_code()
  std::vector<std::string> kept_sources{};  ///< the sources whose machine code stays in any case
};

struct PruneReport {
  std::int64_t trials = 0;
  std::int64_t binaries = 0;
  std::int64_t winners = 0;
  std::int64_t suspects = 0;
  std::int64_t images = 0;  ///< the number of images that go, while the other facts stay
};

class Store {
 public:
  /// Opens or creates. Refuses, each with its remedy: no SQLite file, another application's, a newer version, corrupt
  /// pages, no permission, a directory another user can write to. Each lock of another process is waited for up to 30
  /// s, or, with `budget`, all of them together for what is left of that; then DatabaseLockedError is thrown.
  static Store open(const std::string& path, OpenMode mode, LockBudget* budget = nullptr);

  /// A copy in memory of a file with these bytes, or of a new one if there are none, which goes with the Store: for
  /// tests. Refuses what is no database of mmtune.
  static Store open_image(std::string_view bytes, OpenMode mode);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const std::string& path() const;

  /// Writes a trial and, if given, its binary (which then is what its source compiled to), in one durable transaction;
  /// replaces the row with the same key. Refuses what it would not read back (templates/base/rules.h); cuts notes over
  /// 1 MiB and stores an error share that is NaN as infinite. A binary without image keeps the stored image;
  /// where there is none, only its facts are stored. A trial ends the attempt at it: one that crashed or timed_out
  /// there has killed. `next`, if given, begins in the same transaction. The image is compressed when the file shrinks.
  void put(const Trial& trial, const Binary* binary = nullptr, const LaunchRecord* next = nullptr);

  /// Puts many at once, all or nothing; `next`, if there are any, begin as by begin().
  void put(const std::vector<Trial>& trials, const std::vector<Binary>& binaries,
           const std::vector<LaunchRecord>& next = {});

  /// Records launches, all on one GPU, that are about to begin: one, or those of a race. What is recorded as running
  /// there is over.
  void begin(const std::vector<LaunchRecord>& attempts);

  /// Must be called while nothing runs on the GPU `device_uuid`. Ends what is recorded as running there. What began in
  /// another boot of the machine than `boot` has crashed it, and is returned: one is a kill, several were a race. The
  /// rest is forgotten.
  std::vector<TrialKey> settle(const std::string& device_uuid, const std::string& boot);

  /// Whether this candidate was in a race that crashed the machine, on this GPU model with this driver.
  bool crashed_in_race(const TrialKey& key, const std::string& driver);

  /// The candidates that have killed, or only those of one source, by GPU, driver and name.
  std::vector<Suspect> suspects(const std::optional<std::string>& source_hash = std::nullopt);

  /// Counts one more loss of this source, target and compiler; `losses` and `last` are filled in.
  void put_lost_compile(const LostCompile& lost);
  std::optional<LostCompile> find_lost_compile(const std::string& source_hash, const std::string& target,
                                               const std::string& nvrtc);
  /// Lists all, by name.
  std::vector<LostCompile> lost_compiles();

  std::optional<Trial> find(const TrialKey& key);

  /// Measured trials of this problem on this GPU that were ok and whose machine code is the same, those with most
  /// samples first: where it is launched the same way too, their timing may be reused.
  std::vector<Trial> find_twins(const TrialKey& key, const std::string& binary_hash);

  /// The binary that this source gave for this target when it was last compiled, with its image and its compiler. One
  /// that is stored without an image, or with one that is not that of its hash, is none.
  std::optional<Binary> find_compiled(const std::string& source_hash, const std::string& target);

  /// Records what a source compiled to, so that it need not be compiled again.
  void put_compiled(const std::string& source_hash, const Binary& binary);

  /// The program with its image; nothing if that is not stored, or is not that of the hash, in which case the source is
  /// to be compiled again.
  std::optional<Binary> find_binary(const std::string& binary_hash);

  /// How long the compiler took for it, in milliseconds; 0 where that is not stored.
  double compile_ms(const std::string& binary_hash);

  /// Sets or replaces the decision for trial's problem and GPU, which those of merged databases took part in or not:
  /// they are forgotten. The trial must have been put and be ok.
  /// Part of the same transaction are its machine code, where `code` has it, and, with `kept_sources`,
  /// drop_losing_code() of the problem.
  void put_winner(const TrialKey& trial, const std::string& search, int candidates, const Binary* code = nullptr,
                  const std::vector<std::string>* kept_sources = nullptr);

  /// Sets many at once, all or nothing.
  void put_winners(const std::vector<NewDecision>& decisions);

  /// Drops the machine code of all that was tried for these problems, but not what a decision or a
  /// rival for any problem, an undecided problem or one of these sources needs. Hashes, registers and times stay: no
  /// candidate is measured again, and one that may win after all is compiled again.
  void drop_losing_code(const std::vector<ProblemKey>& problems, const std::vector<std::string>& kept_sources);

  /// Notes how many times as long cuBLAS takes as this kernel, if it is what is decided for its problem; false if
  /// another one is. The ratio stays until another kernel is decided for.
  bool put_cublas_ratio(const TrialKey& decided, double ratio);

  /// The decision for this problem, without the cubin; nothing if its trial is no longer ok. The binary is what its
  /// source compiled to last; `binary.hash` is empty where that is not stored with its machine code, as after merging
  /// another user's database.
  std::optional<Winner> find_winner(const ProblemKey& problem);

  /// Ordered by precision, layout, m, n, k, and measured before predicted: both are listed, the first one counts.
  std::vector<Winner> winners(const RowFilter& filter = {});

  /// The decisions of merged databases for this problem that may be as fast as the one that holds: Winner::near_ties.
  std::vector<TrialKey> near_ties(const ProblemKey& problem);

  /// What an application needs of them: of a row only that is read and checked.
  ServedDecisions served(const DeviceKey& device);

  /// The trials in the order in which they were stored last.
  std::vector<Trial> trials(const RowFilter& filter = {});

  /// Lists all GPUs that have rows.
  std::vector<DeviceKey> devices();

  /// Reads every page and every row. Faults of the file are reported, not thrown.
  CheckReport check();

  /// Throws what merge_from() throws for the first of these that cannot be read, before there is a database to merge
  /// them into.
  static void require_mergeable(const std::vector<std::string>& paths);

  /// Adds everything from other databases, whose values are all suspect; from all of them or, if one cannot be read,
  /// from none. Idempotent and order-free, to the numbers of the rows: the same files, at once or one after another,
  /// give an empty database the same contents. Of two trials with the same key the better verified one stays (a fault
  /// found in a kernel, then more samples, then the newer one); which of several decisions holds is said in
  /// db/settle.h. Machine code comes along from a file of the same user, from others only if `code` says so; else rows
  /// lose their binary_hash, so that their source is compiled again. Times that no kernel can reach (db/device_key.h)
  /// and rows from the future are refused. A decision that cannot be served, since its machine code is not here or
  /// `makes` says so, never takes the place of one that is.
  MergeReport merge_from(const std::vector<std::string>& paths, ForeignCode code = ForeignCode::compile_again,
                         const MakesDecision& makes = {});

  /// The same from another Store, of which only `code` says whether its machine code is taken.
  MergeReport merge_from(Store& other, ForeignCode code, const MakesDecision& makes = {});

  /// The trials, suspects and images that prune() would remove now.
  PruneReport count_prunable(const PruneRules& rules);

  PruneReport prune(const PruneRules& rules);

  /// Compresses machine code that is not yet, and gives the pages that nothing fills any more back to the disk, where
  /// they are most of the file. What prevents it, as another process that reads for long or a full disk, is no fault:
  /// the next run tries again.
  void shrink();

  /// A compact, self-contained copy for other machines (0600). Throws if the target exists. The copy gets its name
  /// when it is complete and on disk: a process that is killed before leaves TARGET.XXXXXX.part, which nothing reads.
  void export_to(const std::string& target_path);

  /// The same without any machine code, for those who would not take it, or to look at.
  void export_without_code(const std::string& target_path);

  /// The same of what an application needs: the decisions that are served, their trials, and the machine code of these
  /// and of `more_sources`.
  void export_winners(const std::string& target_path, const std::vector<std::string>& more_sources = {});

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mmtune
