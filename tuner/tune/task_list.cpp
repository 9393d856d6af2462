#include "tuner/tune/task_list.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"

namespace mmtune {
namespace {

/// What is larger than the GPU's memory fails before anything is planned for it: its bytes may exceed 64 bits.
bool has_room(const DeviceSpec& device, const Problem& problem) {
  const double bytes = minimal_bytes(problem);
  if (device.memory_bytes == 0 || bytes <= static_cast<double>(device.memory_bytes)) return true;
  log::error("{}: does not fit on this GPU, skipped: A, B and C take {:.4g} GB, {} has {:.4g}; use smaller sizes",
             to_string(problem), bytes / 1e9, device.name, static_cast<double>(device.memory_bytes) / 1e9);
  return false;
}

bool is_decided(const Task& task, const Preparation& preparation, Store& store) {
  const auto winner = store.find_winner(preparation.key(task.problem));
  if (!winner) return false;
  if (!task.search.is_answered_by(winner->search)) return false;
  if (winner->trial.environment.nvrtc != preparation.nvrtc()) return false;
  if (!preparation.makes(winner->trial.key)) return false;  // A row of elsewhere may have another kernel's hash.
  return store.find_compiled(winner->trial.key.source_hash, preparation.target().name).has_value();
}

/// Problems of long calls leave compilers time for others, and several GPUs finish at about the same time if they
/// come first. Where time may be too short for all, one GPU begins with those that are named first. So does a
/// prediction, which takes nothing but compilers: as ties go to what decided neighbours have, the order counts, and
/// shares of a fleet are to decide what one run does.
bool begins_with_long_calls(const SessionOptions& options, Evidence evidence, std::size_t devices) {
  const bool is_overlapped = evidence == Evidence::measured && options.budget_s <= 0;
  return !options.in_order && (devices > 1 || is_overlapped);
}

}  // namespace

TaskList list_tasks(const SessionOptions& options, const std::vector<const Family*>& families,
                    const Preparation& preparation, std::size_t devices, Store& store) {
  TaskList list;
  for (const Problem& problem : options.problems) {
    if (!has_room(preparation.device(), problem)) {
      ++list.too_large;
      continue;
    }
    Task task{problem, SearchIdentity(options, families, preparation, problem)};
    if (options.mode.leaves_decided() && is_decided(task, preparation, store)) {
      ++list.known;
    } else {
      list.tasks.push_back(std::move(task));
    }
  }
  if (begins_with_long_calls(options, preparation.evidence(), devices)) {
    std::stable_sort(list.tasks.begin(), list.tasks.end(),
                     [](const Task& x, const Task& y) { return flops(x.problem) > flops(y.problem); });
  }
  return list;
}

void TaskQueue::fill(std::deque<Task> tasks, std::size_t lanes) {
  const std::lock_guard lock(mutex_);
  tasks_ = std::move(tasks);
  lanes_ = lanes;
}

std::optional<TakenTask> TaskQueue::take() {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (tasks_.empty() || !deadlines_.fits(now, latest_)) return std::nullopt;
  const std::size_t problems = tasks_.size();
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  const Clock::time_point deadline = deadlines_.next(now, problems, lanes_);
  return TakenTask{std::move(task), deadline, deadlines_.patience(now, problems, lanes_),
                   deadlines_.part(now, problems, lanes_)};
}

void TaskQueue::ended(Clock::time_point deadline) {
  const std::lock_guard lock(mutex_);
  deadlines_.ended(deadline, Clock::now());
}

std::size_t TaskQueue::size() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

std::vector<Problem> TaskQueue::coming(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < std::min(most, tasks_.size()); ++i) problems.push_back(tasks_[i].problem);
  return problems;
}

}  // namespace mmtune
