#include "runtime/learn/call_race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace mmtune {
namespace {

/// How long a call takes by its kernel and its number.
using Times = std::function<double(std::size_t kernel, std::int64_t call)>;

/// A size's calls on a GPU that is known in all.
class Calls {
 public:
  Calls(std::size_t kernels, Times times, double loading_us = 0, std::uint64_t seed = 1)
      : race_(kernels, loading_us, seed), times_(std::move(times)), loading_us_(loading_us) {}

  /// Runs one call; a timed one has finished when the race looks.
  void run() {
    ++calls_;
    std::size_t kernel = 0;
    if (calls_ >= race_.next_call() && !race_.is_over()) {
      if (race_.is_timing() && looks_in_vain_ > 0) {
        --looks_in_vain_;
        extra_us_ += CallRace::kLookUs;
        race_.look_again(calls_);
        account(kernel);
        return;
      }
      if (race_.is_timing()) race_.add(timed_us_, calls_);
      if (!race_.is_over()) {
        if (const auto turn = race_.begin(calls_)) {
          kernel = *turn;
          ++turns_[kernel];
          extra_us_ += CallRace::kTimingUs;
          timed_us_ = times_(kernel, calls_);
        }
      }
    }
    account(kernel);
  }

  /// Until the race is over, or so many calls were made.
  void run_out(std::int64_t most = 1'000'000) {
    while (!race_.is_over() && calls_ < most) run();
  }

  void look_in_vain(int times) { looks_in_vain_ = times; }
  const CallRace& race() const { return race_; }
  std::int64_t calls() const { return calls_; }
  int turns(std::size_t kernel) const { return turns_.at(kernel); }

  /// What learning has cost, over the time that the calls would have taken without it.
  double share() const {
    const bool has_tried = turns_[1] + turns_[2] + turns_[3] > 0;
    return (extra_us_ + (has_tried ? loading_us_ : 0)) / decided_us_;
  }

 private:
  void account(std::size_t kernel) {
    decided_us_ += times_(0, calls_);
    extra_us_ += times_(kernel, calls_) - times_(0, calls_);
  }

  CallRace race_;
  Times times_;
  double loading_us_;
  std::int64_t calls_ = 0;
  double timed_us_ = 0;
  double decided_us_ = 0;
  double extra_us_ = 0;
  int looks_in_vain_ = 0;
  std::vector<int> turns_ = std::vector<int>(CallRace::kMostKernels);
};

/// A number from 0 to 1 that only depends on the arguments: Vigna's splitmix64.
double drawn(std::uint64_t x, std::uint64_t y) {
  std::uint64_t bits = (x << 32 | y) * 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((bits ^ (bits >> 31)) >> 11) / 0x1p53;
}

/// A time with noise that only makes it longer: up to `part` longer, and one call of 50 three times as long.
Times noisy(std::vector<double> us, double part, std::uint64_t seed) {
  return [us = std::move(us), part, seed](std::size_t kernel, std::int64_t call) {
    const auto number = static_cast<std::uint64_t>(call);
    return us[kernel] * (1 + part * drawn(2 * seed, number)) * (drawn(2 * seed + 1, number) < 0.02 ? 3 : 1);
  };
}

/// The part of all orders of 11 and 11 samples in which those of the first are so small that at most `lost` pairs are
/// lost.
double chance_of_lost_pairs(std::size_t lost) {
  // ways[i][j][u]: orders of i and j samples with u pairs in which the first's is larger.
  constexpr std::size_t n = CallRace::kRounds;
  std::vector<std::vector<std::vector<double>>> ways(
      n + 1, std::vector<std::vector<double>>(n + 1, std::vector<double>(n * n + 1, 0)));
  for (std::size_t i = 0; i <= n; ++i) {
    for (std::size_t j = 0; j <= n; ++j) {
      for (std::size_t u = 0; u <= i * j; ++u) {
        if (i == 0 || j == 0) {
          ways[i][j][u] = 1;
        } else {
          ways[i][j][u] = (u >= j ? ways[i - 1][j][u - j] : 0) + ways[i][j - 1][u];
        }
      }
    }
  }
  double all = 0, few = 0;
  for (std::size_t u = 0; u <= n * n; ++u) {
    all += ways[n][n][u];
    if (u <= lost) few += ways[n][n][u];
  }
  return few / all;
}

TEST(CallRace, ItsLimitIsTheLargestWithAChanceOfAtMostOnePercent) {
  EXPECT_LE(chance_of_lost_pairs(CallRace::kMostLostPairs), 0.01);
  EXPECT_GT(chance_of_lost_pairs(CallRace::kMostLostPairs + 1), 0.01);
}

TEST(CallRace, TheFastestRivalWinsBeyondTheNoise) {
  int found = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Calls calls(4, noisy({50, 45, 60, 40}, 0.1, seed), 0, seed);
    calls.run_out();
    ASSERT_TRUE(calls.race().is_over());
    found += calls.race().winner() == 3 ? 1 : 0;
  }
  EXPECT_GE(found, 97);
}

TEST(CallRace, EqualKernelsAreLeftAsTheyWere) {
  int changed = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Calls calls(4, noisy({50, 50, 50, 50}, 0.3, seed), 0, seed);
    calls.run_out();
    ASSERT_TRUE(calls.race().is_over());
    changed += calls.race().winner() == 0 ? 0 : 1;
  }
  EXPECT_LE(changed, 40) << "each of three rivals with a chance of 1 %";
}

TEST(CallRace, ARivalThatIsHardlyFasterIsNotWorthAChange) {
  Calls calls(2, noisy({50, 49.5}, 0, 0));
  calls.run_out();
  EXPECT_EQ(calls.race().winner(), 0u);
  EXPECT_EQ(calls.turns(1), static_cast<int>(CallRace::kRounds)) << "it was faster each time";
}

TEST(CallRace, PatternsOfCallsDoNotDecide) {
  // Every other call, and two of three, find their operands in the cache.
  for (const int period : {2, 3, 4, 7}) {
    int changed = 0;
    for (unsigned seed = 0; seed < 50; ++seed) {
      Calls calls(
          2, [&](std::size_t, std::int64_t call) { return call % period == 0 ? 80.0 : 50.0; }, 0, seed);
      calls.run_out();
      changed += calls.race().winner() == 0 ? 0 : 1;
    }
    EXPECT_LE(changed, 2) << period;
  }
}

TEST(CallRace, LearningNeverTakesMoreThanItsShare) {
  for (const double us : {3.0, 20.0, 400.0}) {
    for (const double slower : {1.0, 2.0, 10.0}) {
      Calls calls(
          4, [&](std::size_t kernel, std::int64_t) { return kernel == 0 ? us : us * slower; }, 3000);
      double most = 0;
      for (int i = 0; i < 400'000 && !calls.race().is_over(); ++i) {
        calls.run();
        most = std::max(most, calls.share());
      }
      EXPECT_LE(most, CallRace::kShare) << us << " us, rivals " << slower << " times slower";
      EXPECT_GT(calls.turns(1) + calls.turns(2) + calls.turns(3), 0) << us << ' ' << slower;
    }
  }
}

TEST(CallRace, NoiseDoesNotMakeLearningDearer) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Calls calls(4, noisy({20, 60, 60, 200}, 0.2, seed), 0, seed);
    calls.run_out();
    EXPECT_LE(calls.share(), CallRace::kShare) << seed;
  }
}

TEST(CallRace, RivalsThatAreMuchSlowerAreSoonDropped) {
  Calls calls(4, noisy({50, 500, 500, 500}, 0.1, 0));
  calls.run_out();
  EXPECT_EQ(calls.race().winner(), 0u);
  for (const std::size_t rival : {1, 2, 3}) EXPECT_EQ(calls.turns(rival), 3);
  EXPECT_LE(calls.calls(), 12'000);
}

TEST(CallRace, IsOverAfterAsManyCallsAsTheManualSays) {
  for (const auto& [loading_us, most] : {std::pair{0.0, 1'250}, {3000.0, 7'250}}) {
    Calls calls(4, noisy({50, 40, 45, 48}, 0, 0), loading_us);
    calls.run_out();
    EXPECT_LE(calls.calls(), most);
    EXPECT_EQ(calls.race().winner(), 1u);
  }
}

TEST(CallRace, AShortSizeThatIsSeldomUsedIsNeverTimed) {
  Calls calls(2, noisy({50, 40}, 0, 0));
  for (int i = 0; i < 499; ++i) calls.run();
  EXPECT_EQ(calls.turns(0) + calls.turns(1), 0);
}

TEST(CallRace, AGpuThatIsFarBehindIsAskedSeldom) {
  Calls calls(2, noisy({50, 40}, 0, 0));
  calls.look_in_vain(200);
  double most = 0;
  for (int i = 0; i < 100'000 && !calls.race().is_over(); ++i) {
    calls.run();
    most = std::max(most, calls.share());
  }
  EXPECT_LE(most, CallRace::kShare);
  EXPECT_EQ(calls.race().winner(), 1u);
}

TEST(CallRace, AKernelThatCannotBeLaunchedIsOutAndTheDecidedOneNeverIs) {
  CallRace race(3, 0, 1);
  std::int64_t call = 0;
  int dropped = 0;
  while (!race.is_over()) {
    call = race.next_call();
    const auto kernel = race.begin(call);
    if (!kernel) continue;
    ASSERT_LT(call, 1'000'000);
    if (*kernel == 1) {
      race.drop(call);
      ++dropped;
    } else {
      race.add(*kernel == 0 ? 50 : 40, call);
    }
  }
  EXPECT_EQ(dropped, 1);
  EXPECT_EQ(race.winner(), 2u);
  EXPECT_EQ(race.median_us(2), 40);

  CallRace other(2, 0, 1);
  ASSERT_EQ(other.begin(other.next_call()), 0u);
  other.drop(other.next_call());
  EXPECT_FALSE(other.is_over());
  EXPECT_EQ(other.begin(other.next_call()), 0u) << "tried again";
}

}  // namespace
}  // namespace mmtune
