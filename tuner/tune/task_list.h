// The problems of a run that are still to be tuned on a GPU model, their order, and the time for each.
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "db/store.h"
#include "tuner/tune/deadlines.h"
#include "tuner/tune/preparation.h"
#include "tuner/tune/search_identity.h"
#include "tuner/tune/session_options.h"

namespace mmtune {

struct Task {
  Problem problem;
  SearchIdentity search;
};

struct TaskList {
  std::deque<Task> tasks;  ///< the first one comes first
  int known = 0;           ///< the number of problems whose decision is stored
  int too_large = 0;       ///< the number of problems that do not fit on the GPU
};

/// The tasks of a GPU model that has so many devices. Tells of problems that do not fit. Throws DatabaseError.
TaskList list_tasks(const SessionOptions& options, const std::vector<const Family*>& families,
                    const Preparation& preparation, std::size_t devices, Store& store);

/// A task that a lane has taken, and its time.
struct TakenTask {
  Task task;
  Deadlines::Clock::time_point deadline;
  Deadlines::Clock::duration patience;  ///< the longest wait beyond the deadline for what the search begins with
  Deadlines::Clock::duration part;      ///< the problem's time, all included
};

/// The tasks that the lanes of a GPU model take in turn. Thread safe.
class TaskQueue {
 public:
  using Clock = Deadlines::Clock;

  /// None is taken that is expected to end after `latest`.
  TaskQueue(const Deadlines& deadlines, Clock::time_point latest) : deadlines_(deadlines), latest_(latest) {}

  void fill(std::deque<Task> tasks, std::size_t lanes);

  /// The next task; nothing if there is none, or it is too late for one.
  std::optional<TakenTask> take();

  /// A task of that deadline has ended.
  void ended(Clock::time_point deadline);

  /// The number of tasks that nobody has taken.
  std::size_t size() const;

  /// The problems of the tasks that nobody has taken, the next one first; at most so many.
  std::vector<Problem> coming(std::size_t most = std::numeric_limits<std::size_t>::max()) const;

 private:
  mutable std::mutex mutex_;  ///< the lock of everything below
  Deadlines deadlines_;
  Clock::time_point latest_;
  std::deque<Task> tasks_;
  std::size_t lanes_ = 0;
};

}  // namespace mmtune
