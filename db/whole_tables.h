// All problems, and the trials of one GPU that have a time, each read in one pass from end to end: cheaper than a
// look-up for each decision where most rows are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "db/sqlite.h"
#include "db/trial.h"

namespace mmtune {

/// Numbers of texts, from 0 in the order in which they come. A look-up of a known one allocates nothing.
class TextNumbers {
 public:
  std::uint32_t number_of(std::string_view text);
  std::optional<std::uint32_t> find(std::string_view text) const;
  std::string_view text(std::uint32_t number) const { return *texts_[number]; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<const std::string*> texts_;  ///< the keys of the map, which stay where they are
};

/// Whether a stored number can be how long a kernel took, in microseconds.
bool is_time(double us);

/// A trial that has a time, right or too slow, and the program that it ran.
struct TrialTime {
  std::int64_t problem_id = 0;
  double median_us = 0;
  std::uint32_t kernel_id = 0;
  std::uint32_t program = 0;  ///< the number of its binary's hash
  Evidence evidence = Evidence::measured;
  bool is_ok = false;
};

class WholeTables {
 public:
  /// Call within a transaction.
  WholeTables(Database& database, std::int64_t device_id);

  /// The trials in the order of their rows, so that the latest comes last.
  const std::vector<TrialTime>& trials() const { return trials_; }
  const TextNumbers& programs() const { return programs_; }  ///< the hashes of their binaries

  /// Null if there is none, or none that mmtune could have written.
  const Problem* problem(std::int64_t id) const;

  /// Finds trials for a row of keys in ascending order of problem and evidence.
  class OkTrials {
   public:
    explicit OkTrials(const WholeTables& tables) : tables_(tables) {}

    /// The trial of this key if it is ok, else null.
    const TrialTime* find(std::int64_t problem_id, Evidence evidence, std::uint32_t kernel_id);

   private:
    const WholeTables& tables_;
    std::size_t at_ = 0;  ///< All before it belong to smaller keys.
  };

 private:
  struct StoredProblem {
    std::int64_t id = 0;
    Problem problem;
  };
  void read_problems(Database& database);
  void read_trials(Database& database, std::int64_t device_id);

  std::vector<StoredProblem> problems_;    ///< the problems by id
  std::vector<TrialTime> trials_;          ///< the trials by row
  std::vector<std::uint32_t> by_problem_;  ///< the trials' numbers by problem and evidence
  TextNumbers programs_;
};

}  // namespace mmtune
