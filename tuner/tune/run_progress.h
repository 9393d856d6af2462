// How far a session is and where its time goes, for its user.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "db/trial.h"
#include "tuner/text/progress.h"

namespace mmtune {

/// A bar that counts problems, and a line for each problem that ends. For several threads.
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

    /// The share of this problem's work that is done.
    double share() const;

    RunProgress& progress_;
    Problem problem_;
    std::int64_t expected_;  ///< the number of trials; a few more have to be beaten
    std::int64_t judged_ = 0;
  };

  /// Problems that have not begun are expected to take `each` trials.
  RunProgress(std::int64_t problems, std::int64_t each) : problems_(problems), each_(each) {}

  /// A problem that needs no search.
  void skip();

  /// A problem of at most so many trials.
  Search begin(const Problem& problem, std::int64_t most);

  /// Problems that have ended, of those that need a search. Only the end of a problem may make the share smaller.
  ProgressState state() const;

 private:
  ProgressState state_of_all() const;
  void show(const Problem& problem, double best_us);

  mutable std::mutex mutex_;
  Progress shown_;
  std::int64_t problems_;   ///< the number of those that need a search
  std::int64_t each_;       ///< the trials that the next one will take: as many as that which ended last
  std::int64_t ended_ = 0;  ///< the number of problems that have ended
  double open_ = 0;         ///< the sum of the shares that are done of the problems that have begun
};

/// "compile_failed: templates/families/simt/kernel.cu(12): error: …": what became of a candidate that is not valid, and
/// the first error of its note, or the first line.
std::string failure_line(const Trial& trial);

/// "1024x1024x1024 fp32 nn: 44.6 TFLOP/s, best of 170 candidates".
std::string result_line(const Winner& winner);

}  // namespace mmtune
