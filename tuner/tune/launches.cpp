#include "tuner/tune/launches.h"

#include <mmtune/error.h>

#include <exception>
#include <fstream>

#include "runtime/base/log.h"

namespace mmtune {
namespace {

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id.empty() ? "unknown" : id;
}

}  // namespace

LaunchRecord launch_record(const TrialKey& key, const Environment& environment) {
  return {key, environment, boot_id()};
}

void record_launches(const std::vector<TrialKey>& candidates, Lane& lane, Store& store) {
  if (lane.evidence() == Evidence::predicted) return;
  std::vector<LaunchRecord> records;
  for (const TrialKey& key : candidates) records.push_back(launch_record(key, lane.environment()));
  store.begin(records);
}

TrialBatch::~TrialBatch() {
  try {
    store();
  } catch (const std::exception& error) {
    log::debug("{}", error.what());
  }
}

void TrialBatch::add(const Trial& trial, const Binary* binary) {
  trials_.push_back(trial);
  if (binary == nullptr) return;
  binaries_.push_back(*binary);
  // One program is measured at many sizes: to look whether its image is stored takes as long as a launch.
  if (!binary->cubin.empty() && !images_.insert(binary->hash).second) binaries_.back().cubin.clear();
}

void TrialBatch::store(const std::vector<LaunchRecord>& next) {
  if (trials_.empty() && next.empty()) return;
  store_.put(trials_, binaries_, next);
  trials_.clear();
  binaries_.clear();
}

void settle_launches(const DeviceSpec& gpu, Store& store) {
  const std::vector<TrialKey> crashed = store.settle(gpu.uuid, boot_id());
  for (const TrialKey& each : crashed) {
    log::warning("{}: {} {} was {} on {} when the machine went down", to_string(each.problem), each.family, each.config,
                 crashed.size() > 1 ? "racing" : "running", gpu.uuid);
  }
}

SettledGpu::~SettledGpu() {
  try {
    settle_launches(gpu_, store_);
  } catch (const Error& error) {
    log::debug("{}", error.what());
  }
}

bool crashed_in_race(const TrialKey& key, Lane& lane, Store& store) {
  return lane.evidence() == Evidence::measured && store.crashed_in_race(key, lane.environment().driver);
}

bool is_set_aside(const TrialKey& key, Lane& lane, Store& store) {
  if (lane.evidence() == Evidence::predicted) return false;
  for (const Suspect& suspect : store.suspects(key.source_hash)) {
    // The lane may have to wait for its driver: it is asked only where that matters.
    if (suspect.device == key.device && suspect.driver == lane.environment().driver) return suspect.kills >= kMostKills;
  }
  return false;
}

}  // namespace mmtune
