#include "runtime/gpu/workspaces.h"

#include <algorithm>
#include <atomic>
#include <iterator>

namespace mmtune {
namespace {

constexpr std::size_t kMostRetired = std::size_t{64} << 20;  // the bytes from which on retired buffers are freed

/// Whether it is the one default stream of all threads, which cannot be captured.
bool is_default(CUstream stream) { return stream == nullptr || stream == CU_STREAM_LEGACY; }

/// What no other stream ever has. The driver gives the handle of a destroyed stream to the next one while work of the
/// first still runs, and a thread may get the number of one that ended.
std::uint64_t identity_of(CUstream stream) {
  if (is_default(stream)) return 0;
  if (stream == CU_STREAM_PER_THREAD) {
    static std::atomic<std::uint64_t> threads{0};
    thread_local const std::uint64_t number = ++threads;
    return number;
  }
  unsigned long long id = 0;
  MMTUNE_CUDA(cuStreamGetId(stream, &id));
  return id;
}

}  // namespace

Workspaces::Lease::Lease(Workspaces& all, Slot& slot, std::uint64_t stream, std::size_t bytes)
    : slot_(slot), lock_(slot.mutex) {
  if (slot.stream != stream) {
    all.retire(slot);
    slot.stream = stream;
  }
  const std::size_t have = slot.buffers.empty() ? 0 : slot.buffers.back().bytes();
  if (have >= bytes) return;
  // Doubling bounds what all buffers of a stream take by twice the largest.
  slot.buffers.emplace_back(std::max(bytes, 2 * have));
}

Workspaces::Lease Workspaces::lease(CUcontext context, CUstream stream, std::size_t bytes) {
  return may_be_capturing(stream) ? captured(context, stream, bytes)
                                  : Lease(*this, slot(context, stream, false), identity_of(stream), bytes);
}

Workspaces::Lease Workspaces::captured(CUcontext context, CUstream stream, std::size_t bytes) {
  // To ask a captured stream for its id would end the capture. Graphs keep what they have, whoever captures the next.
  return Lease(*this, slot(context, stream, true), 0, bytes);
}

void Workspaces::prepare(CUcontext context, CUstream stream, std::size_t bytes) {
  lease(context, stream, bytes);
  if (!is_default(stream)) captured(context, stream, bytes);
}

Workspaces::Slot& Workspaces::slot(CUcontext context, CUstream stream, bool is_captured) {
  const auto thread = stream == CU_STREAM_PER_THREAD ? std::this_thread::get_id() : std::thread::id{};
  const std::lock_guard lock(mutex_);
  auto& entry = slots_[{context, stream, thread, is_captured}];
  if (!entry) entry = std::make_unique<Slot>();
  return *entry;
}

void Workspaces::retire(Slot& slot) {
  const std::lock_guard lock(mutex_);
  for (const DeviceBuffer& each : slot.buffers) retired_bytes_ += each.bytes();
  std::move(slot.buffers.begin(), slot.buffers.end(), std::back_inserter(retired_));
  slot.buffers.clear();
  if (retired_bytes_ < kMostRetired) return;
  retired_.clear();  // The driver waits for what uses them.
  retired_bytes_ = 0;
}

}  // namespace mmtune
