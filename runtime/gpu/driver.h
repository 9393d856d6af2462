// The CUDA driver: libcuda opened at run time, its functions, and one owner per kind of handle.
//
// Everything here throws: DeviceError for what the caller can mend (no driver, no such GPU), OutOfMemoryError,
// DeviceLostError after a sticky error (the process can do no more CUDA work), DeviceError otherwise; always with call,
// error name and explanation. Destructors log instead.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>
#include <utility>

namespace mmtune {

// clang-format off
#define MMTUNE_CUDA_FUNCTIONS(X)                                                                              \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                       \
  X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceGetAttribute)            \
  X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxSetCurrent)             \
  X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize)                                                    \
  X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo) X(cuMemcpyHtoD) X(cuMemcpyDtoH)                                  \
  X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync)                                              \
  X(cuMemsetD8) X(cuMemsetD8Async) X(cuMemAllocAsync) X(cuMemFreeAsync)                                       \
  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction)                                              \
  X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuLaunchKernelEx)                                             \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuOccupancyMaxActiveClusters)                              \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamIsCapturing)                          \
  X(cuStreamGetId) X(cuStreamBeginCapture) X(cuStreamEndCapture)                                              \
  X(cuThreadExchangeStreamCaptureMode)                                                                        \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize) X(cuEventElapsedTime)             \
  X(cuEventQuery)                                                                                             \
  X(cuGraphDestroy) X(cuGraphInstantiateWithFlags) X(cuGraphExecDestroy) X(cuGraphLaunch) X(cuGraphUpload)    \
  X(cuTensorMapEncodeTiled)
// clang-format on

/// The driver's entry points by their cuda.h names; all of them exist, since older drivers than 12.0 are refused.
struct CudaApi {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared name cannot stand in parentheses
#define MMTUNE_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  MMTUNE_CUDA_FUNCTIONS(MMTUNE_CUDA_MEMBER)
#undef MMTUNE_CUDA_MEMBER
  std::string library;    ///< the file that was loaded
  bool overlaps = false;  ///< whether kernels may overlap (LaunchStep::overlaps_previous): from CUDA 12.3 on
};

/// Loads libcuda.so.1 and initialises it on first use; afterwards immutable and free. Thread safe. Throws DeviceError
/// that lists where it looked, or for a driver older than CUDA 12.0. A driver without any GPU is no error here.
const CudaApi& cuda();

/// Throws what `result` calls for; `call` is the call's text.
void check(CUresult result, const char* call);
/// A check for destructors: it logs a warning instead; errors that check() has had to report before are only worth a
/// debug line.
void check_in_destructor(CUresult result, const char* call) noexcept;

/// MMTUNE_CUDA(cuMemFree(p)): calls through cuda() and checks.
#define MMTUNE_CUDA(call) ::mmtune::check(::mmtune::cuda().call, #call)

/// Version that the driver supports, "13.0", and the kernel module's release ("580.159.04") where /proc tells, else "".
struct DriverVersion {
  std::string cuda;
  std::string release;
};
DriverVersion driver_version();

/// The same release without asking the driver.
std::string driver_release();

/// The release in the text of /proc/driver/nvidia/version, else "".
std::string parse_driver_release(const std::string& text);

/// Owns a C handle; `Destroy` is a stateless callable. Move only.
template <class T, class Destroy>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T value) : value_(value) {}
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, T{})) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      value_ = std::exchange(other.value_, T{});
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  T get() const { return value_; }
  explicit operator bool() const { return value_ != T{}; }
  void reset() noexcept {
    if (value_ != T{}) Destroy{}(std::exchange(value_, T{}));
  }

 private:
  T value_{};
};

// clang-format off
struct DestroyStream { void operator()(CUstream stream) const noexcept; };
struct DestroyEvent { void operator()(CUevent event) const noexcept; };
struct DestroyModule { void operator()(CUmodule module) const noexcept; };
struct DestroyGraph { void operator()(CUgraph graph) const noexcept; };
struct DestroyGraphExec { void operator()(CUgraphExec graph) const noexcept; };
struct FreeMemory { void operator()(CUdeviceptr memory) const noexcept; };
// clang-format on

using Stream = Handle<CUstream, DestroyStream>;
using Event = Handle<CUevent, DestroyEvent>;
using Module = Handle<CUmodule, DestroyModule>;
using Graph = Handle<CUgraph, DestroyGraph>;
using GraphExec = Handle<CUgraphExec, DestroyGraphExec>;

/// While this lives, what the calling thread asks of the driver does not end a capture of another thread. By cuda.h a
/// capture in the global mode, the default, forbids calls like cuEventQuery and cuMemAlloc to all threads. Memory,
/// modules and events of this file are made and destroyed so.
class HarmlessToCaptures {
 public:
  HarmlessToCaptures() { exchange(); }
  ~HarmlessToCaptures() { exchange(); }
  HarmlessToCaptures(const HarmlessToCaptures&) = delete;
  HarmlessToCaptures& operator=(const HarmlessToCaptures&) = delete;

 private:
  void exchange();

  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Device memory in bytes.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// No bytes are address 0. Throws OutOfMemoryError with the size asked for and the size that is free.
  explicit DeviceBuffer(std::size_t bytes);

  CUdeviceptr address() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  Handle<CUdeviceptr, FreeMemory> memory_;
  std::size_t bytes_ = 0;
};

Stream make_stream();  ///< a stream that does not wait for the default stream
Event make_event();    ///< an event that can time
/// Whether what is enqueued becomes part of a graph.
bool is_capturing(CUstream stream);
/// Whether it may: also where the driver does not say, as for the default stream beside a capture.
bool may_be_capturing(CUstream stream);
/// An ELF image or PTX. Throws DeviceError with the driver's log.
Module load_module(const std::string& image);
CUfunction find_function(const Module& module, const std::string& name);

/// How many GPUs the driver offers; 0 is a valid answer.
int gpu_count();

/// Throws DeviceError naming the ordinals that exist.
CUdevice device_at(int ordinal);

/// A GPU whose primary context is retained and current to the calling thread while this lives. What was current before
/// becomes so again; handles must be gone by then.
class Gpu {
 public:
  /// The GPU of device_at().
  explicit Gpu(int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  CUcontext context() const { return context_; }

 private:
  CUdevice device_;
  CUcontext context_ = nullptr;
  CUcontext previous_ = nullptr;
};

}  // namespace mmtune
