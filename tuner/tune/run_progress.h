// How far a session is and where its time goes, for its user.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "db/trial.h"
#include "tuner/text/progress.h"

namespace mmtune {

/// A bar, a line for each problem that ends. For several threads.
class RunProgress {
 public:
  /// The search of one problem. For one thread.
  class Search {
   public:
    /// A candidate is judged now. `best_us` is the shortest time of those before; 0: there is none.
    void judge(double best_us);

    /// The search ends. `winner` is its decision; null if there is none.
    void end(const Winner* winner);

   private:
    friend class RunProgress;
    Search(RunProgress& progress, const Problem& problem, std::int64_t expected)
        : progress_(progress), problem_(problem), expected_(expected) {}

    RunProgress& progress_;
    Problem problem_;
    std::int64_t expected_;  ///< trials; a few more have to be beaten
    std::int64_t judged_ = 0;
  };

  /// Problems that have not begun are expected to take `each` trials.
  RunProgress(std::int64_t problems, std::int64_t each) : problems_left_(problems), each_(each) {}

  /// A problem that needs no search.
  void skip();

  /// A problem of at most so many trials.
  Search begin(const Problem& problem, std::int64_t most);

  /// Trials: those that were judged, and those that are expected in all.
  struct Count {
    std::int64_t done = 0;
    std::int64_t total = 0;
  };
  Count count() const;

 private:
  Count trials() const { return {done_, begun_ + problems_left_ * each_}; }
  void show(const Problem& problem, double best_us);

  mutable std::mutex mutex_;
  Progress shown_;
  std::int64_t problems_left_;  ///< that have not begun
  std::int64_t each_;           ///< trials that these will take: as many as that which ended last
  std::int64_t begun_ = 0;      ///< trials of those that have begun or ended
  std::int64_t done_ = 0;       ///< trials
};

/// "1024x1024x1024 fp32 nn: 44.6 TFLOP/s, best of 170 candidates".
std::string result_line(const Winner& winner);

}  // namespace mmtune
