// The record of what runs on a GPU: db/launch_record.h.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "db/store.h"
#include "tuner/lanes/lane.h"

namespace mmtune {

/// A record of a launch in this boot of the machine.
LaunchRecord launch_record(const TrialKey& key, const Environment& environment);

/// Records launches, of one candidate or of a race, before they begin on the lane. Predictions run nothing, which is
/// not recorded.
void record_launches(const std::vector<TrialKey>& candidates, Lane& lane, Store& store);

/// The trials of listed candidates until they are stored, which the transaction does that records the next launches:
/// one for each problem, where a measurement of many sizes would wait for the disk as long as for the GPU. What ends
/// the process before loses them. Not thread safe.
class TrialBatch {
 public:
  /// The store must outlive it.
  explicit TrialBatch(Store& store) : store_(store) {}
  /// Stores what is left.
  ~TrialBatch();
  TrialBatch(const TrialBatch&) = delete;
  TrialBatch& operator=(const TrialBatch&) = delete;

  void add(const Trial& trial, const Binary* binary);

  /// What is not stored yet.
  const std::vector<Trial>& trials() const { return trials_; }

  /// Stores all that was added; the same transaction records the launches that come next, if there are any.
  void store(const std::vector<LaunchRecord>& next = {});

 private:
  Store& store_;
  std::vector<Trial> trials_;
  std::vector<Binary> binaries_;
  std::unordered_set<std::string> images_;  ///< the hashes of those that were stored with their images
};

/// Must be called while this process alone may use the GPU and nothing runs there. Warns of candidates that crashed the
/// machine.
void settle_launches(const DeviceSpec& gpu, Store& store);

/// Holds while this process has the GPU's lock: nothing runs there before and after, whatever happens in between.
class SettledGpu {
 public:
  SettledGpu(const DeviceSpec& gpu, Store& store) : gpu_(gpu), store_(store) { settle_launches(gpu_, store_); }
  ~SettledGpu();
  SettledGpu(const SettledGpu&) = delete;
  SettledGpu& operator=(const SettledGpu&) = delete;

 private:
  const DeviceSpec& gpu_;
  Store& store_;
};

/// Whether the candidate was in a race that crashed the machine, on this GPU model with this driver. It is not known
/// which of the finalists did that, so that it is no kill; but such a race is not run again.
bool crashed_in_race(const TrialKey& key, Lane& lane, Store& store);

/// Whether the candidate has ended its worker or the machine so often, on this GPU model with this driver, that it is
/// not launched again.
bool is_set_aside(const TrialKey& key, Lane& lane, Store& store);

/// Whether the candidate ended its worker; a source that ended its compiler has no binary.
inline bool has_killed(const Trial& trial) { return is_kill(trial.outcome) && !trial.binary_hash.empty(); }

}  // namespace mmtune
