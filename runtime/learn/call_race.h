// The race that finds out which of a few kernels is the fastest for one size, on an application's own calls: a function
// of samples and counts, without a GPU or a clock. Every rule and constant of it is here and in call_race.cpp.
//
// Kernel 0 is the one that was decided; the others are its rivals. Three samples of kernel 0 say what a call takes.
// Then kernels are sampled in rounds, each of which has one sample of every kernel that still runs, in random order and
// at random distances, so that no pattern of an application's calls meets always the same kernel. A rival is dropped as
// soon as it does not look faster. It replaces kernel 0 only if it is faster beyond the noise of all rounds. Then the
// race is over for good: a size changes its kernel once or never.
//
// What this costs is counted against the size's calls: see spent_us() and earned_us().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mmtune {

/// Allocates nothing once it is made. Not thread safe.
class CallRace {
 public:
  static constexpr std::size_t kMostKernels = 4;
  static constexpr std::size_t kRounds = 11;
  /// The most of kRounds * kRounds pairs of samples in which a rival that replaces kernel 0 may be the slower one. So
  /// few or fewer are as likely as 0.9 % where the two do not differ, whatever the distribution of their times (H. B.
  /// Mann, D. R. Whitney, On a test of whether one of two random variables is stochastically larger than the other,
  /// 1947).
  static constexpr std::size_t kMostLostPairs = 25;
  static constexpr double kWorth = 0.98;  ///< the largest part of kernel 0's median that a rival's median may be

  static constexpr double kShare = 0.01;  ///< the part of the time of a size's calls that learning may cost
  static constexpr double kTimingUs = 5;  ///< what timing adds to a call, on host and GPU: assumed, generously
  static constexpr double kLookUs = 1;  ///< the time of looking in vain whether a timed call has finished: assumed, too
  static constexpr double kShortestUs = 1;     ///< what a call takes at least, as long as none was timed
  static constexpr double kUnknownTimes = 10;  ///< how many times slower a rival counts that has not run

  /// `kernels` are 2 to kMostKernels. `loading_us` is what making the rivals ready took.
  CallRace(std::size_t kernels, double loading_us, std::uint64_t seed);

  bool is_over() const { return is_over_; }

  /// The kernel that the size keeps; 0 before the race is over.
  std::size_t winner() const { return winner_; }

  /// The median of the samples in rounds; 0 where there are none.
  double median_us(std::size_t kernel) const;

  /// The number of the call, from 1 on, up to which there is nothing to do: neither to look nor to time.
  std::int64_t next_call() const { return next_call_; }

  /// The kernel that call number `calls` runs to be timed; none where too little is earned for that. Until add(),
  /// cancel() or drop() there is one timed call. Not after the race is over.
  std::optional<std::size_t> begin(std::int64_t calls);

  /// Whether there is a timed call.
  bool is_timing() const { return is_timing_; }

  /// What the timed call took, over 0.
  void add(double us, std::int64_t calls);

  /// The timed call has not finished yet.
  void look_again(std::int64_t calls);

  /// The call was not timed after all.
  void cancel(std::int64_t calls);

  /// The call was not timed, and its kernel, unless that is kernel 0, runs no further: it cannot be launched.
  void drop(std::int64_t calls);

  /// What learning has cost so far, or is expected to have cost when the timed call has finished: loading, timing, and
  /// what rivals took longer than kernel 0 at its shortest. What they took less does not count.
  double spent_us() const;

  /// What it may cost: kShare of the time of so many calls, each as short as the shortest sample of kernel 0.
  double earned_us(std::int64_t calls) const;

 private:
  static constexpr std::size_t kFirstSamples = 3;  ///< the number of samples of kernel 0 alone
  static constexpr std::size_t kLeastRounds = 3;   ///< the number of rounds before a rival is dropped
  static constexpr std::uint64_t kJitter = 8;      ///< the number of calls by which the next one may come later

  struct Runner {
    std::array<double, kRounds> samples_us{};
    std::size_t samples = 0;
    double sum_us = 0;
    double longest_us = 0;
    bool is_dropped = false;
  };

  double shortest_us() const { return shortest_us_ > 0 ? shortest_us_ : kShortestUs; }
  double expected_extra_us(std::size_t kernel) const;
  double cost_us(std::size_t kernel) const;
  void wait_until_earned(double us, std::int64_t calls);
  void go_on(std::int64_t calls);
  void choose_next();
  void drop_the_hopeless();
  void finish_if_known();
  bool is_faster(const Runner& rival) const;
  std::uint64_t random(std::uint64_t below);

  std::vector<Runner> runners_;
  double loading_us_;
  std::uint64_t state_;
  double shortest_us_ = 0;  ///< the shortest time of kernel 0; 0: none was timed
  double fixed_us_ = 0;     ///< the time spent on timing, looking and loading
  std::size_t first_samples_ = 0;
  std::size_t next_ = 0;  ///< the kernel that is timed next, or now
  bool is_timing_ = false;
  bool is_over_ = false;
  std::size_t winner_ = 0;
  std::int64_t next_call_ = 0;
};

}  // namespace mmtune
