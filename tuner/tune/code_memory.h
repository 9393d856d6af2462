// The machine code that a run has compiled, for sizes that try the same programs later: the database keeps only what
// may still win.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/store.h"
#include "templates/family/render.h"
#include "tuner/lanes/candidate.h"
#include "tuner/tune/preparation.h"

namespace mmtune {

/// Programs by the hash of their source, all for one target, with the candidate that each was first compiled for. The
/// oldest are forgotten where they take too much memory. Thread safe.
class CodeMemory {
 public:
  /// The preparation must outlive it.
  explicit CodeMemory(const Preparation& preparation) : preparation_(preparation), hashes_(preparation.files()) {}

  void keep(const TrialKey& key, const Binary& binary);
  std::optional<Binary> find(const std::string& source_hash) const;

  /// What is kept, or else stored by the run's compiler: another one may make another program of the same source.
  std::optional<Binary> find(const std::string& source_hash, Store& store) const;

  /// Whether the program of this candidate is here.
  bool has(const Problem& problem, const Candidate& candidate);

  /// The candidates of the programs that may serve a problem too: those of its precision, layout and alignment, the
  /// oldest first. What a launch alone decides they have as the problem that they were compiled for.
  std::vector<Candidate> candidates(const Problem& problem) const;

 private:
  static constexpr std::size_t kMostBytes = std::size_t{128} << 20;  // the most bytes: some 3000 kernels

  struct Kept {
    TrialKey key;
    Binary binary;
  };

  const Preparation& preparation_;
  mutable std::mutex mutex_;  ///< the lock of everything below
  SourceHashes hashes_;
  std::unordered_map<std::string, Kept> programs_;
  std::deque<std::string> in_order_;  ///< their sources, the oldest first
  std::size_t bytes_ = 0;             ///< the bytes of all images
};

}  // namespace mmtune
