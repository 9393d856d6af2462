// The race decides which finalist wins, and when that is known: a sequential test over samples, without a GPU or a
// clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tuner/race/ratio.h"

namespace mmtune {

struct RaceRules {
  std::size_t many = 8;           ///< Where more finalists race, those far behind are dropped early:
  std::size_t early_rounds = 4;   ///< after these rounds
  double far = 1.03;              ///< all that took this many times the leader's median in each of them
  std::size_t least_rounds = 12;  ///< the fewest rounds before anything else is decided
  std::size_t most_rounds = 60;
  std::size_t most_repeats = 8;  ///< the most disturbed rounds that are run again; later ones count
  double error = 0.01;           ///< the probability that any look drops the finalist that is truly fastest
  double noise = 1.003;          ///< the ratio that another run may find instead of 1: docs/lab/2026-11-22-noise.md
  double tie = 1.005;            ///< A finalist that is certainly no more than this times slower is tied.
};

/// How a finalist stands to the leader, the one with the least median. Sent between processes as numbers.
enum class Standing : int {
  leader = 0,
  tied = 1,       ///< It is surely less than RaceRules::tie times slower.
  undecided = 2,  ///< It is neither tied nor slower beyond doubt.
  slower = 3,     ///< It is slower beyond doubt.
};

struct Placing {
  Standing standing = Standing::undecided;
  Ratio ratio;  ///< the ratio of its times over the leader's; of a dropped finalist as when it was dropped

  static constexpr void fields(auto&& visit) {
    visit("standing", &Placing::standing, rule::Within{0, 3});
    visit("ratio", &Placing::ratio);
  }
};
static_assert(kListsAllMembers<Placing>);

/// Every round has one sample of each finalist that still runs. Of many finalists those that are far behind in all
/// early rounds, by more than the noise of a GPU, run no further. The test looks after least_rounds and then whenever
/// there are half as many rounds more, at the last time after most_rounds. At each look a finalist is compared with
/// the leader by the interval of the median of ratios within rounds (tuner/race/ratio.h): entirely below `tie`, it is
/// tied; else entirely above `noise`, it is slower and runs no further. The race is over when all that run are tied
/// with the leader. The intervals are so wide that the errors of all looks and of the finalists that are left then add
/// up to at most `error` (union bound), with independent rounds of any distribution.
class Race {
 public:
  /// Begins a race of at least one finalist.
  explicit Race(std::size_t finalists, const RaceRules& rules = {});

  bool over() const { return over_; }

  /// The finalists that still run, ascending.
  const std::vector<std::size_t>& running() const { return running_; }

  /// The times of one round, in the order of running(). False if it was disturbed and does not count, which happens
  /// most_repeats times at most: then the data is kept as it is. Not after over().
  bool add(const std::vector<double>& round_us, bool disturbed = false);

  /// The number of rounds that counted.
  std::size_t rounds() const { return rounds_; }

  /// The times of each finalist in the rounds that counted; there must have been one.
  const std::vector<std::vector<double>>& samples_us() const { return samples_us_; }

  /// The placings at the last look; before the first all but the leader are undecided. May be asked for at any time
  /// after the first round, as when time is up.
  std::vector<Placing> placings() const;

 private:
  std::size_t leader() const;
  std::size_t after(std::size_t look) const;
  double tail_for(std::size_t finalists) const;
  void drop_far();
  void look();
  Ratio ratio_to(std::size_t leader, std::size_t finalist) const;

  RaceRules rules_;
  std::size_t looks_ = 1;  ///< the most looks
  double tail_ = 0;        ///< the probability of error of one end of one interval
  std::size_t rounds_ = 0;
  std::size_t next_look_ = 0;
  std::size_t repeats_ = 0;
  bool over_ = false;
  std::vector<std::size_t> running_;
  std::vector<std::vector<double>> samples_us_;
  std::vector<Placing> placings_;
};

/// The placings of a race between finalists whose times have no noise.
std::vector<Placing> race_without_noise(const std::vector<double>& times_us);

/// Times the leader's median beyond which a finalist wins no tie, even where noise hides the difference.
inline constexpr double kWorthLess = RaceRules{}.tie;

/// Whether a finalist is as fast as the leader, as far as that is known and matters.
bool is_as_fast(const Placing& placing);

/// What speaks for a finalist that the race could not separate from others.
struct Claim {
  bool is_default = false;               ///< whether an application would run it without tuning
  bool is_incumbent = false;             ///< whether it is the stored decision
  std::size_t neighbour = kNoNeighbour;  ///< the rank of the nearest neighbouring size that it won: 0 is the nearest
  std::int64_t footprint_bytes = 0;      ///< the bytes of registers and shared memory of a block
  std::string name;                      ///< a unique name, which is the last resort

  static constexpr std::size_t kNoNeighbour = std::numeric_limits<std::size_t>::max();
};

/// The winner. A default that is not slower beyond doubt stays, then an incumbent. Of the others with no more than
/// kWorthLess times the leader's median and not slower beyond doubt, the one that the nearest neighbouring size uses,
/// then the one of the least footprint. Both lists have the same length, at least 1.
std::size_t choose_winner(const std::vector<Placing>& placings, const std::vector<Claim>& claims);

}  // namespace mmtune
