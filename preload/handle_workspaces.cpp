#include "preload/handle_workspaces.h"

#include <mutex>
#include <unordered_map>

namespace mmtune {
namespace {

struct Known {
  std::mutex mutex;
  std::unordered_map<cublas::Handle, HandleWorkspace> workspaces;
};

/// Never destroyed: a program may call cuBLAS while it ends.
Known& known() {
  static Known& all = *new Known;
  return all;
}

}  // namespace

void set_workspace(cublas::Handle handle, const HandleWorkspace& workspace) noexcept {
  try {
    const std::lock_guard lock(known().mutex);
    known().workspaces[handle] = workspace;
  } catch (...) {  // There is none where there is no memory for it.
  }
}

void forget_workspace(cublas::Handle handle) noexcept {
  try {
    const std::lock_guard lock(known().mutex);
    known().workspaces.erase(handle);
  } catch (...) {  // A mutex that cannot be locked is no reason to end a program.
  }
}

HandleWorkspace workspace_of(cublas::Handle handle) noexcept {
  try {
    const std::lock_guard lock(known().mutex);
    const auto found = known().workspaces.find(handle);
    return found == known().workspaces.end() ? HandleWorkspace{} : found->second;
  } catch (...) {
    return {};
  }
}

}  // namespace mmtune
