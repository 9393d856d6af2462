// How far a long run is, on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace mmtune {

struct ProgressState {
  std::int64_t done = 0;
  std::int64_t total = 0;
  double share = 0;      ///< the share of the work, 0 to 1
  bool is_known = true;  ///< whether the share is good for an estimate of the time that is left

  static ProgressState of(std::int64_t done, std::int64_t total) {
    return {done, total, total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1};
  }
};

/// "[#####.....] 50%  3/6  ETA 0:42  note", at most `width` columns wide.
std::string progress_line(const ProgressState& state, double elapsed_s, std::string_view note, int width);

/// A bar as wide as the terminal that redraws itself there, else a line every 10 s; nothing where warnings are not
/// shown either. That stderr cannot be written is no error. Not thread safe.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` says what is being done: "fp32 nn 1024x1024x1024".
  void update(const ProgressState& state, std::string_view note);

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  Clock::time_point start_;
  Clock::time_point next_;  ///< the time before which nothing is printed
};

}  // namespace mmtune
