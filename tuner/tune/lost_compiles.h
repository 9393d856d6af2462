// Sources whose compiler gave no answer: db/launch_record.h.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "db/store.h"
#include "tuner/tune/preparation.h"

namespace mmtune {

/// Whether the trial's source got no answer from its compiler; a candidate that ended its worker has a binary.
inline bool is_lost_compile(const Trial& trial) { return is_kill(trial.outcome) && trial.binary_hash.empty(); }

/// What one run does about them, with compilers that are given `limit` for a source: none is tried twice. Thread safe.
class LostCompiles {
 public:
  LostCompiles(Store& store, const Preparation& preparation, std::chrono::milliseconds limit)
      : store_(store), preparation_(preparation), limit_(limit) {}

  /// What became of the source, if it is not to be compiled now.
  std::optional<LostCompile> given_up(const std::string& source_hash);

  /// Whether the next run tries this one again, even with the same limit.
  bool is_tried_again(const std::string& source_hash);

  void note(const TrialKey& key, Outcome outcome);

 private:
  double limit_ms() const { return static_cast<double>(limit_.count()); }
  std::optional<LostCompile> find(const std::string& source_hash);

  Store& store_;
  const Preparation& preparation_;
  std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::unordered_set<std::string> noted_;  ///< the source hashes of this run
};

}  // namespace mmtune
