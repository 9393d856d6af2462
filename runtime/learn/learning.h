// Learning from calls (LibraryOptions::learn): times calls on the GPU and hands the times to the races of their sizes,
// which are in runtime/learn/call_race.h. Which kernels a size tries is in runtime/call/learners.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/gpu/driver.h"
#include "runtime/learn/call_race.h"

namespace mmtune {

/// A size whose kernel is not settled yet.
struct LearningSize {
  /// Arguments as for CallRace.
  LearningSize(std::size_t kernels, double loading_us, std::uint64_t seed)
      : next_call(0), race(kernels, loading_us, seed) {
    next_call = race.next_call();
  }

  std::atomic<std::int64_t> calls = 0;
  std::atomic<std::int64_t> next_call;  ///< the next call of the race, for threads that only look whether it has come

  // The lock of the Learning guards it.
  CallRace race;
  std::size_t events = 0;   ///< the pair that the timed call recorded
  bool is_settled = false;  ///< a turn has told the result
};

/// Pairs of events, and the lock of all races. Thread safe; no thread waits for another one or for the GPU, but in
/// open(). Must end in the context that it was opened in.
class Learning {
 public:
  /// What one call does for the race of its size. While a timed call is enqueued no other one is.
  class Turn {
   public:
    /// A turn to do nothing: the call runs what was decided.
    Turn() = default;
    Turn(Turn&& other) noexcept;
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Turn& operator=(Turn&&) = delete;
    ~Turn();  ///< the kernel of a timed call that was not launched runs no further

    /// The kernel of the race that runs.
    std::size_t kernel() const { return kernel_; }

    /// Whether the race is over. Just one turn says so.
    bool is_last() const { return is_last_; }

    /// The call was launched.
    void launched();

   private:
    friend class Learning;
    Learning* owner_ = nullptr;  ///< the owner of the events of a timed call
    LearningSize* size_ = nullptr;
    std::unique_lock<std::mutex> lock_;
    CUstream stream_ = nullptr;
    std::int64_t calls_ = 0;
    std::size_t kernel_ = 0;
    bool is_last_ = false;
  };

  /// Makes the events, in the current context, unless they are there. Where that fails nothing is ever timed.
  void open();

  /// What call number `calls` on this stream does. Records the first event of a timed call. Does nothing at all while
  /// the stream is captured.
  Turn turn(LearningSize& size, std::int64_t calls, CUstream stream);

 private:
  static constexpr std::size_t kPairs = 16;

  struct Pair {
    Event begin;
    Event end;
  };

  void make_events();
  bool collect(LearningSize& size, std::int64_t calls);
  Turn next_turn(LearningSize& size, std::int64_t calls, CUstream stream);

  std::mutex mutex_;
  std::vector<Pair> pairs_;
  std::vector<std::size_t> free_;  ///< the pairs that no timed call has
  bool is_open_ = false;
};

}  // namespace mmtune
