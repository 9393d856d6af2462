// Which stored kernel runs a problem: exact, nearest, predicted or the fallback. Pure: no driver, no clock, no SQL
// beyond load_kernels.
#pragma once

#include <mmtune/mmtune.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "db/store.h"
#include "runtime/choose/kernel_model.h"
#include "runtime/choose/measured_times.h"
#include "runtime/choose/nearest.h"
#include "templates/family/family.h"
#include "templates/family/render.h"

namespace mmtune {

struct ProblemHash {
  std::size_t operator()(const Problem& problem) const;
};

/// A program that is stored.
struct StoredKernel {
  const Family* family = nullptr;
  Config config;  ///< the complete configuration
  std::string binary_hash;
  int registers = 0;  ///< the compiler's registers per thread
};

/// A size and the kernel that won it. Its binary is right for any extents, but rendered for problem.align.
struct Entry {
  Problem problem;
  std::shared_ptr<const StoredKernel> kernel;  ///< sizes that have one in common share it
  double median_us = 0;
  bool measured = false;    ///< false: median_us is the model's
  double cublas_ratio = 0;  ///< the ratio as Answer has it
};

/// Why this program does not make the row's source any more, as "its kernel has changed since"; empty if it does.
/// `capability` is that of the target, 90 for sm_90a.
std::string why_changed(const TrialKey& key, const DeviceSpec& device, const TemplateFiles& files, int capability);

/// Why this program cannot launch a decision's binary on the GPU, as "its kernel has changed since"; empty if it can.
std::string why_unusable(const TrialKey& key, const Binary& binary, const DeviceSpec& device,
                         const TemplateFiles& files);

/// What a database offers one GPU.
struct StoredKernels {
  std::vector<Entry> winners;    ///< the decisions, each problem once
  std::vector<Entry> times;      ///< the times of their kernels for other sizes
  std::vector<Entry> fallbacks;  ///< at most one per precision and layout; extents and times have no meaning
  std::map<std::string, std::string> images;  ///< the machine code of the fallbacks, by binary hash
  int unusable = 0;  ///< decisions for other kernel sources, another architecture or unknown families
};

/// What this program renders for a GPU, by hashes that are kept: one serves all databases that are read together. Not
/// thread safe.
class CurrentSources {
 public:
  /// The device and the files must live as long.
  CurrentSources(const DeviceSpec& device, const TemplateFiles& files) : device_(device), hashes_(files) {}

  const DeviceSpec& device() const { return device_; }

  /// Arguments as for render().
  std::string hash(const Family& family, const Problem& problem, const Config& config, const LaunchPlan& plan,
                   int capability) {
    return hashes_.hash(family, problem, config, plan, capability);
  }

  /// The hash of the fallback's default configuration for this problem, whose extents have no meaning.
  const std::string& fallback_hash(const Problem& problem, int capability);

 private:
  const DeviceSpec& device_;
  SourceHashes hashes_;
  std::map<std::tuple<Precision, Layout, int>, std::string> fallbacks_;
};

/// why_changed() of many rows, with hashes that are kept.
std::string why_changed(const TrialKey& key, CurrentSources& sources, int capability);

/// Reads the decisions for the sources' GPU, measured ones before predicted ones, what else is known of their kernels,
/// and the binaries of the fallback. A decision counts only if the source that was tuned is still what would be
/// rendered, which is looked at once for each kernel. Throws DatabaseError.
StoredKernels load_kernels(Store& store, CurrentSources& sources);

/// The same for one database.
StoredKernels load_kernels(Store& store, const DeviceSpec& device, const TemplateFiles& files);

/// A kernel for one problem and why it was chosen.
struct Choice {
  Match match = Match::fallback;
  const Family* family = nullptr;
  Config config;
  Alignment align;          ///< the alignment that the binary is, or has to be, rendered for
  LaunchPlan plan;          ///< the plan for the problem's extents and this alignment
  std::string binary_hash;  ///< empty: it is not stored and has to be compiled
  Fusion fusion = {};       ///< what it has to be compiled with; no stored program has any
  double expected_us = 0;   ///< the expected time of one product, on average of a batch
  bool measured = false;
  double cublas_ratio = 0;  ///< the ratio as Answer has it
  std::string why;
};

/// The way in which a kernel is chosen for a size that was not tuned.
enum class Policy {
  measured,  ///< the shortest expected time: the model's, corrected by what was measured; what a library does
  model,     ///< the shortest time of the model, of all kernels
  nearest,   ///< the kernel of the nearest tuned size
};

/// Immutable, so usable from any thread.
class DispatchTable {
 public:
  DispatchTable(DeviceSpec device, StoredKernels kernels);

  /// Never fails: m, n >= 1, k >= 0. An exact entry takes one look-up in a hash map; else all kernels are weighed, of
  /// many those that did best around this size. Microseconds, however many sizes there are.
  ///
  /// For a batch of `products` all kernels are weighed in any case, as programs for a batch where they can be: a kernel
  /// that was tuned for this size has won alone on the GPU. It stays unless another one is expected to be faster.
  Choice choose(const Problem& problem, Policy policy = Policy::measured, std::int64_t products = 1) const;

  /// What else stored kernels offer for a size that was not tuned, the best first: at most `most` that choose() passed
  /// over and that are not expected to be much slower. None for a tuned size, or where choose() falls back.
  std::vector<Choice> alternatives(const Problem& problem, std::size_t most) const;

  /// The default of fallback_family(), which runs everything.
  Choice fallback(const Problem& problem, std::string why) const;

  /// The nearest configuration, to be compiled for the alignment of operands that no stored binary may touch.
  std::optional<Choice> recompiled(const Problem& problem) const;

 private:
  static constexpr std::uint32_t kNone = -1U;
  static constexpr std::size_t kMostWeighed = 1024;  // the most kernels: each takes up to a microsecond

  struct Tuned : Entry {
    std::uint32_t variant = 0;
    std::uint32_t next = kNone;  ///< the next entry of the bucket
  };
  /// A kernel rendered for an alignment, with clusters of one shape; with whatever SPLIT, where that comes with the
  /// launch.
  struct Variant {
    std::uint32_t first = 0;        ///< the first entry that has it or, with other clusters, its program
    std::uint32_t number = 0;       ///< the number among the variants of its group
    std::uint32_t measured_as = 0;  ///< its number or, where no entry has it, that of one with its program
    std::uint32_t model = 0;        ///< the number among the models of its group
    Config config;                  ///< the first entry's configuration, but for clusters
    Alignment needs;
    std::optional<std::size_t> split = {};  ///< the position of SPLIT, where it comes with the launch
    std::vector<std::uint32_t> wider = {};  ///< the same configuration, rendered for operands aligned to more
  };
  struct Group {
    NearestSizes sizes;
    std::vector<std::uint32_t> variants;
    std::vector<KernelModel> models;  ///< the models, none twice
    MeasuredTimes times;              ///< the times; kernels are numbered as in `variants`
    std::optional<Entry> fallback;

    std::uint32_t number_of(const KernelModel& model);
  };
  struct Runnable {
    const Entry* entry;
    Config config;  ///< the entry's configuration, but for SPLIT and clusters
    LaunchPlan plan;
  };
  struct Weighed {
    std::uint32_t variant = 0;
    int parts = 0;  ///< the value of SPLIT; 0: the configuration's
    double expected_us = 0;
    double cautious_us = 0;  ///< the time by which it is compared
    bool is_bound = false;   ///< whether the times may be longer: what the model says is not known yet
  };
  class Weighing;

  /// Each precision and layout has a group of invariant products and one of others.
  static constexpr std::size_t kGroups = 2 * kAllPrecisions.size() * kAllLayouts.size();

  static std::size_t group_index(const Problem& problem);
  const Group& group(const Problem& problem) const { return groups_[group_index(problem)]; }
  using Variants = std::unordered_map<const StoredKernel*, std::uint32_t>;  ///< the numbers of the entries' kernels
  std::size_t bucket_of(const Problem& shape) const { return ProblemHash{}(shape) % buckets_.size(); }
  void add_variant(std::uint32_t number, Variants& known);
  std::uint32_t add_launch(std::uint32_t first, const Config& config);
  void add_other_clusters(Group& group);
  bool has_program_of(const Variant& variant, const Entry& entry) const;
  bool has_config(const Variant& variant, const Family& family, const Config& config) const;
  void add_times(const std::vector<Entry>& times, const Variants& variants);
  LaunchPlan plan_of(const Entry& entry, const Problem& problem) const;
  double model_us(const Variant& variant, const Entry& entry, const Problem& problem) const;
  static int parts_of(const Variant& variant, const Entry& entry);
  const Alignment& needs(const Tuned& entry) const { return variants_[entry.variant].needs; }
  std::optional<Runnable> exact(const Problem& problem) const;
  std::uint32_t widest_of(std::uint32_t number, const Problem& problem) const;
  std::optional<Runnable> runnable(const Tuned& entry, const Problem& problem) const;
  std::optional<Runnable> runnable(const Weighed& weighed, const Problem& problem) const;
  std::optional<Runnable> runnable(const Entry& entry, const Config& config, const Alignment& needs,
                                   const Problem& problem) const;
  std::optional<Runnable> nearest(const Problem& problem) const;
  std::vector<std::uint32_t> rivals(const Problem& problem, const MeasuredTimes::Around& around,
                                    std::uint32_t near) const;
  static std::string launched_with(const Runnable& runnable);
  Choice best_of_all(Match match, Runnable near, const Problem& problem, const Problem& given, Policy policy,
                     std::int64_t products) const;
  Choice make(Match match, Runnable runnable, double expected_us, const Problem& problem, std::string why) const;

  DeviceSpec device_;
  std::vector<Tuned> entries_;
  std::vector<Variant> variants_;
  std::array<Group, kGroups> groups_;
  std::vector<std::uint32_t> buckets_;  ///< the first entry, by the hash of its problem without alignment
};

}  // namespace mmtune
