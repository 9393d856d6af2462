#include "runtime/learn/learning.h"

#include <mmtune/error.h>

#include <limits>
#include <utility>

#include "runtime/base/log.h"

namespace mmtune {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

// -- one call --------------------------------------------------------------------------------------------------------

Learning::Turn::Turn(Turn&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      size_(other.size_),
      lock_(std::move(other.lock_)),
      stream_(other.stream_),
      calls_(other.calls_),
      kernel_(other.kernel_),
      is_last_(other.is_last_) {}

Learning::Turn::~Turn() {
  if (owner_ == nullptr) return;
  owner_->free_.push_back(size_->events);
  size_->race.drop(calls_);
  size_->next_call.store(size_->race.next_call(), std::memory_order_relaxed);
}

void Learning::Turn::launched() {
  if (owner_ == nullptr) return;
  if (cuda().cuEventRecord(owner_->pairs_[size_->events].end.get(), stream_) == CUDA_SUCCESS) owner_ = nullptr;
}

// -- all calls -------------------------------------------------------------------------------------------------------

void Learning::open() {
  const std::lock_guard lock(mutex_);
  make_events();
}

void Learning::make_events() {
  if (is_open_) return;
  is_open_ = true;
  try {
    for (std::size_t i = 0; i < kPairs; ++i) {
      Event begin = make_event();
      pairs_.push_back({std::move(begin), make_event()});
    }
  } catch (const Error& error) {
    log::debug("nothing is learnt from calls: {}", error.what());
    pairs_.clear();
  }
  free_.reserve(pairs_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) free_.push_back(i);
}

/// Hands the time of the timed call, if there is one, to the race. False if it has not finished, or never will.
bool Learning::collect(LearningSize& size, std::int64_t calls) {
  if (!size.race.is_timing()) return true;
  const HarmlessToCaptures harmless;
  const Pair& pair = pairs_[size.events];
  CUresult result = cuda().cuEventQuery(pair.end.get());
  if (result == CUDA_ERROR_NOT_READY) {
    size.race.look_again(calls);
    return false;
  }
  float ms = 0;
  if (result == CUDA_SUCCESS) result = cuda().cuEventElapsedTime(&ms, pair.begin.get(), pair.end.get());
  free_.push_back(size.events);
  if (result != CUDA_SUCCESS || !(ms > 0)) {
    size.race.cancel(calls);
    return false;
  }
  size.race.add(1000 * static_cast<double>(ms), calls);
  return true;
}

Learning::Turn Learning::turn(LearningSize& size, std::int64_t calls, CUstream stream) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || may_be_capturing(stream)) return {};
  make_events();
  if (pairs_.empty()) {
    size.next_call.store(kNever, std::memory_order_relaxed);
    return {};
  }
  // Another thread may have done what there was to do.
  if (calls < size.race.next_call()) return {};
  Turn turn = next_turn(size, calls, stream);
  size.next_call.store(turn.is_last_ ? kNever : size.race.next_call(), std::memory_order_relaxed);
  if (turn.owner_ != nullptr) turn.lock_ = std::move(lock);
  return turn;
}

Learning::Turn Learning::next_turn(LearningSize& size, std::int64_t calls, CUstream stream) {
  Turn turn;
  if (!collect(size, calls)) return turn;
  if (size.race.is_over()) {
    turn.is_last_ = !std::exchange(size.is_settled, true);
    return turn;
  }
  if (free_.empty()) {
    size.race.look_again(calls);
    return turn;
  }
  const auto kernel = size.race.begin(calls);
  if (!kernel) return turn;
  size.events = free_.back();
  if (cuda().cuEventRecord(pairs_[size.events].begin.get(), stream) != CUDA_SUCCESS) {
    size.race.cancel(calls);
    return turn;
  }
  free_.pop_back();
  turn.owner_ = this;
  turn.size_ = &size;
  turn.stream_ = stream;
  turn.calls_ = calls;
  turn.kernel_ = *kernel;
  return turn;
}

}  // namespace mmtune
