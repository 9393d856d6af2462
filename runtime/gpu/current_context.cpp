#include "runtime/gpu/current_context.h"

#include <fmt/format.h>
#include <mmtune/error.h>

namespace mmtune {

PrimaryContext::~PrimaryContext() {
  if (context_ == nullptr) return;
  check_in_destructor(cuda().cuDevicePrimaryCtxRelease(device_), "cuDevicePrimaryCtxRelease(device_)");
}

CUcontext PrimaryContext::get() {
  if (CUcontext retained = if_retained()) return retained;
  const std::lock_guard lock(mutex_);
  if (CUcontext retained = if_retained()) return retained;
  CUcontext context = nullptr;
  MMTUNE_CUDA(cuDevicePrimaryCtxRetain(&context, device_));
  context_ = context;
  return context;
}

CUcontext PrimaryContext::if_retained() const { return context_; }

CurrentContext::CurrentContext(PrimaryContext& primary) {
  MMTUNE_CUDA(cuCtxGetCurrent(&context_));
  if (context_ != nullptr) return;
  context_ = primary.get();
  MMTUNE_CUDA(cuCtxSetCurrent(context_));
  restore_ = true;
}

CurrentContext::CurrentContext(CUcontext context) noexcept : context_(context) {
  restore_ = context != nullptr && cuda().cuCtxGetCurrent(&before_) == CUDA_SUCCESS && before_ != context &&
             cuda().cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

CurrentContext::~CurrentContext() {
  if (restore_) check_in_destructor(cuda().cuCtxSetCurrent(before_), "cuCtxSetCurrent(before_)");
}

void require_context_of(CUdevice device) {
  CUdevice current = 0;
  MMTUNE_CUDA(cuCtxGetDevice(&current));
  if (current == device) return;
  throw UsageError(
      fmt::format("the calling thread's CUDA context belongs to device {}, the library was opened for "
                  "device {}; open one library for each device",
                  current, device));
}

}  // namespace mmtune
