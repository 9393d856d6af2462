// Which stored kernel runs a problem: exact, nearest, predicted or the fallback. Pure: no driver, no clock, no SQL
// beyond load_kernels.
#pragma once

#include <mmtune/mmtune.h>

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/store.h"
#include "templates/family.h"
#include "templates/render.h"

namespace mmtune {

struct ProblemHash {
  std::size_t operator()(const Problem& problem) const;
};

/// A kernel that won a size. Its binary is right for any extents, but rendered for problem.align.
struct Entry {
  Problem problem;
  const Family* family = nullptr;
  Config config;  ///< complete
  std::string binary_hash;
  int registers = 0;  ///< per thread, the compiler's
  double median_us = 0;
  bool measured = false;  ///< else median_us is the model's
};

/// Why this program does not make the row's source any more, as "its kernel has changed since"; empty if it does.
/// `capability` is that of the target, 90 for sm_90a.
std::string why_changed(const TrialKey& key, const DeviceSpec& device, const TemplateFiles& files, int capability);

/// Why this program cannot launch a decision's binary on the GPU, as "its kernel has changed since"; empty if it can.
std::string why_unusable(const Winner& winner, const DeviceSpec& device, const TemplateFiles& files);

/// What a database offers one GPU.
struct StoredKernels {
  std::vector<Entry> winners;
  std::vector<Entry> fallbacks;  ///< at most one per precision and layout; extents and times have no meaning
  std::map<std::string, std::string> images;  ///< of the fallbacks, by binary hash
  int unusable = 0;  ///< decisions for other kernel sources, another architecture or unknown families
};

/// Reads the decisions for this GPU, measured ones before predicted ones, and the binaries of the fallback. A decision
/// counts only if `files` still render to the source that was tuned. Throws DatabaseError.
StoredKernels load_kernels(Store& store, const DeviceSpec& device, const TemplateFiles& files);

/// A kernel for one problem and why it was chosen.
struct Choice {
  Match match = Match::fallback;
  const Family* family = nullptr;
  Config config;
  Alignment align;          ///< that the binary is, or has to be, rendered for
  LaunchPlan plan;          ///< for the problem's extents and this alignment
  std::string binary_hash;  ///< empty: not stored, has to be compiled
  double expected_us = 0;
  bool measured = false;
  std::string why;
};

/// Immutable, so usable from any thread.
class DispatchTable {
 public:
  DispatchTable(DeviceSpec device, StoredKernels kernels);

  /// Never fails: m, n >= 1, k >= 0. An exact entry takes one look-up in a hash map; else all entries are weighed,
  /// which is worth remembering.
  Choice choose(const Problem& problem) const;

  /// The default of fallback_family(), which runs everything.
  Choice fallback(const Problem& problem, std::string why) const;

  /// For operands that no stored binary may touch: the nearest configuration, to be compiled for their alignment.
  std::optional<Choice> recompiled(const Problem& problem) const;

  bool empty() const { return entries_.empty(); }

 private:
  struct Tuned : Entry {
    Alignment needs;
    double model_us = 0;  ///< the model's time of the tuned problem
  };
  /// Entries by number.
  struct Group {
    std::vector<std::size_t> tuned;
    std::vector<std::size_t> kernels;  ///< one entry for each different kernel
    std::optional<Entry> fallback;
  };
  struct Candidate {
    const Tuned* entry;
    LaunchPlan plan;
    double model_us;
  };

  static std::size_t group_index(const Problem& problem);
  const Group& group(const Problem& problem) const { return groups_[group_index(problem)]; }
  void add(Entry entry);
  LaunchPlan plan_of(const Entry& entry, const Problem& problem) const;
  const Tuned* exact(const Problem& problem) const;
  std::vector<const Tuned*> by_distance(const Problem& problem) const;
  std::optional<Candidate> candidate(const Tuned& entry, const Problem& problem) const;
  std::optional<Candidate> nearest(const Problem& problem) const;
  /// Of those that the model expects to take less; nothing if there is none.
  std::optional<Candidate> fastest(const Problem& problem, double than_us) const;
  Choice make(Match match, Candidate candidate, const Problem& problem, std::string why) const;

  DeviceSpec device_;
  std::vector<Tuned> entries_;
  std::array<Group, kAllPrecisions.size() * kAllLayouts.size()> groups_;
  std::unordered_map<Problem, std::vector<std::size_t>, ProblemHash> shapes_;  ///< by problem without alignment
};

}  // namespace mmtune
