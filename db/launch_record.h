// What may end without an answer: launches on a GPU, recorded before their outcome is known, so that a crash of the
// worker or the machine has a name, and compilers.
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

/// A source whose compiler gave no answer: it was too late, or its process was ended. Often the host is to blame, which
/// was busy or short of memory.
struct LostCompile {
  std::string source_hash;
  std::string target;  ///< "sm_90a"
  std::string nvrtc;   ///< the version of the compiler
  std::string family;
  std::string config;                    ///< the configuration that was compiled last
  Outcome outcome = Outcome::timed_out;  ///< timed_out or crashed, the last time
  int losses = 0;                        ///< the number of runs that tried
  double limit_ms = 0;                   ///< the longest time that a compile was given
  std::string last;                      ///< the time of the last loss, in UTC as ISO 8601

  static constexpr void fields(auto&& visit) {
    visit("source_hash", &LostCompile::source_hash, rule::hash);
    visit("target", &LostCompile::target, rule::word);
    visit("nvrtc", &LostCompile::nvrtc, rule::label);
    visit("family", &LostCompile::family, rule::family);
    visit("config", &LostCompile::config, rule::config);
    visit("outcome", &LostCompile::outcome, rule::outcome);
    visit("losses", &LostCompile::losses, rule::not_negative);
    visit("limit_ms", &LostCompile::limit_ms, rule::amount);
    visit("last", &LostCompile::last, rule::utc_time);
  }
};
static_assert(kListsAllMembers<LostCompile>);

/// After so many losses a source is set aside: not compiled again by that compiler unless it is given more time.
inline constexpr int kMostLosses = 2;

/// Whether the next run, if it gives compilers this long, tries again.
inline bool is_worth_another_try(const LostCompile& lost, double limit_ms) {
  return lost.losses < kMostLosses || limit_ms > lost.limit_ms;
}

}  // namespace mmtune
