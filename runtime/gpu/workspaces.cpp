#include "runtime/gpu/workspaces.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <atomic>
#include <iterator>

namespace mmtune {
namespace {

constexpr std::size_t kMostRetired = std::size_t{64} << 20;  // the bytes from which on retired buffers are freed

/// What no other stream ever has. The driver gives the handle of a destroyed stream to the next one while work of the
/// first still runs, and a thread may get the number of one that ended.
std::uint64_t identity_of(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY) return 0;
  if (stream == CU_STREAM_PER_THREAD) {
    static std::atomic<std::uint64_t> threads{0};
    thread_local const std::uint64_t number = ++threads;
    return number;
  }
  unsigned long long id = 0;
  MMTUNE_CUDA(cuStreamGetId(stream, &id));
  return id;
}

void refuse_capture(CUstream stream, std::size_t bytes) {
  if (!is_capturing(stream)) return;
  throw Error(
      fmt::format("workspace: {} bytes cannot be allocated while the stream is captured; call prepare() with "
                  "this stream first, or pass a workspace",
                  bytes));
}

}  // namespace

Workspaces::Lease::Lease(Workspaces& all, Slot& slot, CUstream stream, std::size_t bytes)
    : slot_(slot), lock_(slot.mutex) {
  const std::uint64_t identity = identity_of(stream);
  const bool is_captured = may_be_capturing(stream);
  if (slot.stream != identity) {
    all.retire(slot, !is_captured);
    slot.stream = identity;
  }
  slot.is_in_graphs |= is_captured;
  const std::size_t have = slot.buffers.empty() ? 0 : slot.buffers.back().bytes();
  if (have >= bytes) return;
  refuse_capture(stream, bytes);
  const HarmlessToCaptures harmless;
  // Doubling bounds what all buffers of a stream take by twice the largest.
  slot.buffers.emplace_back(std::max(bytes, 2 * have));
}

Workspaces::~Workspaces() {
  if (slots_.empty()) return;  // The driver may not be there.
  const HarmlessToCaptures harmless;
  slots_.clear();
  in_graphs_.clear();
  retired_.clear();
}

Workspaces::Lease Workspaces::lease(CUcontext context, CUstream stream, std::size_t bytes) {
  const auto thread = stream == CU_STREAM_PER_THREAD ? std::this_thread::get_id() : std::thread::id{};
  Slot* slot = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& entry = slots_[{context, stream, thread}];
    if (!entry) entry = std::make_unique<Slot>();
    slot = entry.get();
  }
  return Lease(*this, *slot, stream, bytes);
}

void Workspaces::retire(Slot& slot, bool may_free) {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceBuffer>& to = slot.is_in_graphs ? in_graphs_ : retired_;
  for (const DeviceBuffer& each : slot.buffers) retired_bytes_ += slot.is_in_graphs ? 0 : each.bytes();
  std::move(slot.buffers.begin(), slot.buffers.end(), std::back_inserter(to));
  slot.buffers.clear();
  slot.is_in_graphs = false;
  if (!may_free || retired_bytes_ < kMostRetired) return;
  const HarmlessToCaptures harmless;
  retired_.clear();  // The driver waits for what uses them.
  retired_bytes_ = 0;
}

}  // namespace mmtune
