// The tables of a database as records: those of db/trial.h, and those that only the database knows.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "db/launch_record.h"
#include "db/trial.h"

namespace mmtune {

/// A family with the parameters that it had.
struct FamilyRow {
  std::string family_name;
  std::string parameters;  ///< "BM BN BK"

  static constexpr void fields(auto&& visit) {
    visit("family_name", &FamilyRow::family_name, rule::family);
    visit("parameters", &FamilyRow::parameters);
  }
};
static_assert(kListsAllMembers<FamilyRow>);

namespace rule {

/// The values of parameters, "128 64 16", as a column. A type of its own, since they are stored as bytes.
struct Settings {
  std::string_view operator()(std::string_view /*text*/) const { return ""; }  // KernelRow sees the names, too
};
inline constexpr Settings settings;

}  // namespace rule

/// How settings are stored: seven bits of a number in a byte, the highest first, and all bytes of a number but its last
/// with the top bit set. Nothing for what is no numbers with one blank between them, which stays a text.
std::optional<std::string> settings_bytes(std::string_view settings);

/// The settings of these bytes; nothing where no settings are stored so.
std::optional<std::string> settings_text(std::string_view bytes);

/// A configuration without the names of its parameters, and what it rendered to: rows of several problems share it.
struct KernelRow {
  FamilyRow family;
  std::string settings;  ///< "128 64 16"
  std::string source_hash;

  static constexpr void fields(auto&& visit) {
    visit("family", &KernelRow::family);
    visit("settings", &KernelRow::settings, rule::settings);
    visit("source_hash", &KernelRow::source_hash, rule::hash);
  }
  std::string config() const;
  std::string_view contradiction() const;
};
static_assert(kListsAllMembers<KernelRow>);

KernelRow kernel_row(std::string family, std::string_view config, std::string source_hash);
inline KernelRow kernel_row(const TrialKey& key) { return kernel_row(key.family, key.config, key.source_hash); }

/// How a TrialKey is stored.
struct TrialKeyRow {
  DeviceKey device;
  Problem problem;
  KernelRow kernel;
  Evidence evidence = Evidence::measured;

  TrialKeyRow() = default;
  explicit TrialKeyRow(const TrialKey& key);
  TrialKey value() &&;

  static constexpr void fields(auto&& visit) {
    visit("device", &TrialKeyRow::device);
    visit("problem", &TrialKeyRow::problem);
    visit("kernel", &TrialKeyRow::kernel);
    visit("evidence", &TrialKeyRow::evidence, rule::evidence);
  }
};

/// How a Suspect is read.
struct SuspectRow {
  DeviceKey device;
  KernelRow kernel;
  std::string driver;
  int kills = 0;
  std::string last;

  Suspect value() &&;

  static constexpr void fields(auto&& visit) {
    visit("device", &SuspectRow::device);
    visit("kernel", &SuspectRow::kernel);
    visit("driver", &SuspectRow::driver);
    visit("kills", &SuspectRow::kills);
    visit("last", &SuspectRow::last, rule::utc_time);
  }
};
static_assert(kListsAllMembers<SuspectRow>);

/// The record as which T is stored: mostly T itself. Others are made of a T, and have value() for the way back.
template <class T>
T stored_as(const T&);
TrialKeyRow stored_as(const TrialKey&);
SuspectRow stored_as(const Suspect&);
template <class T>
using Stored = decltype(stored_as(std::declval<const T&>()));
template <class T>
inline constexpr bool kIsStoredAsItIs = std::is_same_v<Stored<T>, T>;

template <class T>
decltype(auto) stored(const T& value) {
  if constexpr (kIsStoredAsItIs<T>)
    return (value);
  else
    return Stored<T>(value);
}

/// What a source compiled to.
struct Compiled {
  std::string source_hash;
  std::string target;
  std::string binary_hash;
  std::string nvrtc;

  static constexpr void fields(auto&& visit) {
    visit("source_hash", &Compiled::source_hash, rule::hash);
    visit("target", &Compiled::target, rule::word);
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
  KernelRow kernel;

  static constexpr void fields(auto&& visit) {
    visit("device", &AttemptKey::device);
    visit("problem", &AttemptKey::problem);
    visit("kernel", &AttemptKey::kernel);
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
    visit("boot", &Attempt::boot, rule::word);
    visit("killed", &Attempt::killed, rule::OneOf{kAllKilled});
    visit("started", &Attempt::started, rule::utc_time);
  }
  static constexpr std::array kAllKilled{Killed::no, Killed::alone, Killed::in_race};
};
static_assert(kListsAllMembers<Attempt>);

constexpr std::string_view table_of(const void* /*any other record*/) { return ""; }
constexpr std::string_view table_of(const DeviceKey*) { return "device"; }
constexpr std::string_view table_of(const Problem*) { return "problem"; }
constexpr std::string_view table_of(const Environment*) { return "environment"; }
constexpr std::string_view table_of(const RunConditions*) { return "conditions"; }
constexpr std::string_view table_of(const FamilyRow*) { return "family"; }
constexpr std::string_view table_of(const KernelRow*) { return "kernel"; }
constexpr std::string_view table_of(const Binary*) { return "binary"; }
constexpr std::string_view table_of(const Trial*) { return "trial"; }
constexpr std::string_view table_of(const Compiled*) { return "compiled"; }
constexpr std::string_view table_of(const Attempt*) { return "attempt"; }
constexpr std::string_view table_of(const LostCompile*) { return "lost_compile"; }
constexpr std::string_view table_of(const Decision*) { return "winner"; }
constexpr std::string_view table_of(const Rival*) { return "rival"; }

/// The table whose rows these records are; empty for what is part of another record's row.
template <class T>
inline constexpr std::string_view kTable = table_of(static_cast<const T*>(nullptr));

}  // namespace mmtune
