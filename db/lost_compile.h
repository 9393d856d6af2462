// Sources whose compiler gave no answer: it was too late, or its process was ended. Often the host is to blame, which
// was busy or short of memory.
#pragma once

#include <string>

#include "db/trial.h"

namespace mmtune {

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
