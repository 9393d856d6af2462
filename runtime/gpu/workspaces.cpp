#include "runtime/gpu/workspaces.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>

namespace mmtune {
namespace {

void refuse_capture(CUstream stream, std::size_t bytes) {
  if (!is_capturing(stream)) return;
  throw Error(
      fmt::format("workspace: {} bytes cannot be allocated while the stream is captured; call prepare() with "
                  "this stream first, or pass a workspace",
                  bytes));
}

}  // namespace

Workspaces::Lease::Lease(Slot& slot, CUstream stream, std::size_t bytes) : slot_(slot), lock_(slot.mutex) {
  const std::size_t have = slot.buffers.empty() ? 0 : slot.buffers.back().bytes();
  if (have >= bytes) return;
  refuse_capture(stream, bytes);
  // Doubling bounds what all buffers of a stream take by twice the largest.
  slot.buffers.emplace_back(std::max(bytes, 2 * have));
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
  return Lease(*slot, stream, bytes);
}

}  // namespace mmtune
