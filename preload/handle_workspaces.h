// The workspaces that a program has given its cuBLAS handles: what cuBLAS does not tell.
#pragma once

#include <cstddef>

#include "preload/cublas_abi.h"

namespace mmtune {

/// Device memory; none if `address` is null.
struct HandleWorkspace {
  void* address = nullptr;
  std::size_t bytes = 0;
};

/// Must be called after a call that succeeded: with the workspace of cublasSetWorkspace; with none after
/// cublasSetStream, which takes it back. Thread safe. Frameworks make both calls before every product.
void set_workspace(cublas::Handle handle, const HandleWorkspace& workspace) noexcept;

/// Must be called before cublasDestroy.
void forget_workspace(cublas::Handle handle) noexcept;

HandleWorkspace workspace_of(cublas::Handle handle) noexcept;

/// The place where a call has its workspace from.
struct WorkspaceOfCall {
  cublas::Handle handle = nullptr;  ///< the handle whose workspace it is
  HandleWorkspace own = {};         ///< the workspace; without a handle that of this call alone

  HandleWorkspace get() const noexcept { return handle != nullptr ? workspace_of(handle) : own; }
};

}  // namespace mmtune
