// The tables of a database as records: those of db/trial.h, and those that only the database knows.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "db/lost_compile.h"
#include "db/trial.h"

namespace mmtune {

/// What a source compiled to.
struct Compiled {
  std::string source_hash;
  std::string target;
  std::string binary_hash;
  std::string nvrtc;

  static constexpr void fields(auto&& visit) {
    visit("source_hash", &Compiled::source_hash, rule::hash);
    visit("target", &Compiled::target, rule::hash);
    visit("binary_hash", &Compiled::binary_hash, rule::hash);
    visit("nvrtc", &Compiled::nvrtc, rule::label);
  }
};
static_assert(kListsAllMembers<Compiled>);

/// What a decision rests on.
struct Grounds {
  double median_us = 0;  ///< the time of the trial when it won
  std::string search;    ///< the hash of what was searched
  int candidates = 0;    ///< the number of trials behind the decision
  std::string decided;   ///< the time of the decision, in UTC as ISO 8601
  /// How many times as long cuBLAS took as the kernel where `mmtune bench` compared them; 0: it did not.
  double cublas_ratio = 0;

  static constexpr void fields(auto&& visit) {
    visit("median_us", &Grounds::median_us, rule::amount);
    visit("search", &Grounds::search, rule::label);
    visit("candidates", &Grounds::candidates, rule::not_negative);
    visit("decided", &Grounds::decided, rule::utc_time);
    visit("cublas_ratio", &Grounds::cublas_ratio, rule::amount);
  }
  std::string_view contradiction() const { return median_us > 0 ? "" : "median_us: not over 0"; }
};
static_assert(kListsAllMembers<Grounds>);

struct Decision {
  TrialKey key;
  Grounds grounds;

  static constexpr void fields(auto&& visit) {
    visit("key", &Decision::key);
    visit("grounds", &Decision::grounds);
  }
};
static_assert(kListsAllMembers<Decision>);

/// A decision of a merged database that does not hold here.
struct Rival {
  TrialKey key;
  Grounds grounds;
  bool near_tie = false;  ///< whether the samples leave open that it is as fast as the decision that holds

  static constexpr void fields(auto&& visit) {
    visit("key", &Rival::key);
    visit("grounds", &Rival::grounds);
    visit("near_tie", &Rival::near_tie);
  }
};
static_assert(kListsAllMembers<Rival>);

/// A candidate that runs; attempts are made where times are measured.
struct AttemptKey {
  DeviceKey device;
  Problem problem;
  std::string family;
  std::string config;
  std::string source_hash;

  static constexpr void fields(auto&& visit) {
    visit("device", &AttemptKey::device);
    visit("problem", &AttemptKey::problem);
    visit("family", &AttemptKey::family, rule::family);
    visit("config", &AttemptKey::config, rule::config);
    visit("source_hash", &AttemptKey::source_hash, rule::hash);
  }
};
static_assert(kListsAllMembers<AttemptKey>);

/// How an attempt stands. Stored as numbers: never renumber.
enum class Killed : int {
  no = 0,       ///< It runs.
  alone = 1,    ///< It ended its worker or the machine.
  in_race = 2,  ///< It was one of several that raced when the machine ended.
};

struct Attempt {
  AttemptKey key;
  Environment environment;
  std::string boot;
  Killed killed = Killed::no;
  std::string started;

  static constexpr void fields(auto&& visit) {
    visit("key", &Attempt::key);
    visit("environment", &Attempt::environment);
    visit("boot", &Attempt::boot, rule::hash);
    visit("killed", &Attempt::killed, rule::OneOf{kAllKilled});
    visit("started", &Attempt::started, rule::utc_time);
  }
  static constexpr std::array kAllKilled{Killed::no, Killed::alone, Killed::in_race};
};
static_assert(kListsAllMembers<Attempt>);

/// The table whose rows these records are; empty for what is part of another record's row.
template <class T>
inline constexpr std::string_view kTable = "";
template <>
inline constexpr std::string_view kTable<DeviceKey> = "device";
template <>
inline constexpr std::string_view kTable<Problem> = "problem";
template <>
inline constexpr std::string_view kTable<Environment> = "environment";
template <>
inline constexpr std::string_view kTable<Binary> = "binary";
template <>
inline constexpr std::string_view kTable<Trial> = "trial";
template <>
inline constexpr std::string_view kTable<Compiled> = "compiled";
template <>
inline constexpr std::string_view kTable<Attempt> = "attempt";
template <>
inline constexpr std::string_view kTable<LostCompile> = "lost_compile";
template <>
inline constexpr std::string_view kTable<Decision> = "winner";
template <>
inline constexpr std::string_view kTable<Rival> = "rival";

}  // namespace mmtune
