// Launches on a GPU before their outcome is known, so that a crash of the worker or the machine has a name.
#pragma once

#include <string>

#include "db/trial.h"

namespace mmtune {

/// A candidate that is about to run.
struct LaunchRecord {
  TrialKey key;
  Environment environment;
  std::string boot;  ///< Linux's boot_id, which names the machine since it has been up
};

/// A candidate that ended its worker or the machine, on any of the GPUs of this model with this driver.
struct Suspect {
  DeviceKey device;
  std::string driver;
  std::string family;
  std::string config;  ///< the configuration of the last launch
  std::string source_hash;
  int kills = 0;
  std::string last;  ///< the time of the last launch, in UTC as ISO 8601

  static constexpr void fields(auto&& visit) {
    visit("device", &Suspect::device);
    visit("driver", &Suspect::driver, rule::label);
    visit("family", &Suspect::family, rule::family);
    visit("config", &Suspect::config, rule::config);
    visit("source_hash", &Suspect::source_hash, rule::hash);
    visit("kills", &Suspect::kills, rule::not_negative);
    visit("last", &Suspect::last, rule::utc_time);
  }
};

/// Whether a launch that came to this has ended its worker.
inline bool is_kill(Outcome outcome) { return outcome == Outcome::crashed || outcome == Outcome::timed_out; }

/// So many kills, and a candidate is set aside: not tried again on this GPU model with this driver.
inline constexpr int kMostKills = 2;

}  // namespace mmtune
