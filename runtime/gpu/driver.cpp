#include "runtime/gpu/driver.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

#include "runtime/base/dynamic_library.h"
#include "runtime/base/log.h"

// cuda.h defines cuMemAlloc as cuMemAlloc_v2; the second macro lets that happen before the name becomes a string.
#define MMTUNE_TEXT(text) #text
#define MMTUNE_SYMBOL(name) MMTUNE_TEXT(name)

namespace mmtune {
namespace {

constexpr int kOldestDriver = 12000;  // cuTensorMapEncodeTiled and the rest of the table appeared by CUDA 12.0

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// "CUDA_ERROR_INVALID_VALUE (invalid argument)".
std::string describe(const CudaApi& api, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.cuGetErrorName(result, &name) != CUDA_SUCCESS) return fmt::format("error {}", static_cast<int>(result));
  if (api.cuGetErrorString(result, &text) != CUDA_SUCCESS) return name;
  return fmt::format("{} ({})", name, text);
}

template <class Function>
void bind(Function& function, const DynamicLibrary& library, const char* symbol) {
  function = reinterpret_cast<Function>(library.require(symbol));
}

/// Throws for a driver that is too old.
int version_of(const DynamicLibrary& library) {
  decltype(&::cuDriverGetVersion) get_version = nullptr;
  bind(get_version, library, "cuDriverGetVersion");
  int version = 0;
  if (get_version(&version) == CUDA_SUCCESS && version >= kOldestDriver) return version;
  throw DeviceError(fmt::format("{}: the driver supports CUDA {}, mmtune needs {}; install a newer NVIDIA driver",
                                library.path(), version_text(version), version_text(kOldestDriver)));
}

CudaApi load_driver() {
  const DynamicLibrary library = DynamicLibrary::open(
      "the CUDA driver",
      {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
       "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"},
      "install the NVIDIA driver, or give this container access to the host's");
  constexpr int kGraphsOverlap = 12030;
  CudaApi api;
  api.overlaps = version_of(library) >= kGraphsOverlap;
  api.library = library.path();
  const auto bind_symbol = [&library](auto& function, std::string symbol) {
    // Drivers before 12.8 have this one under its first name only, with the same parameters.
    if (symbol == "cuEventElapsedTime_v2" && library.find(symbol.c_str()) == nullptr) symbol = "cuEventElapsedTime";
    bind(function, library, symbol.c_str());
  };
#define MMTUNE_CUDA_BIND(name) bind_symbol(api.name, MMTUNE_SYMBOL(name));
  MMTUNE_CUDA_FUNCTIONS(MMTUNE_CUDA_BIND)
#undef MMTUNE_CUDA_BIND

  const CUresult result = api.cuInit(0);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NO_DEVICE) return api;
  throw DeviceError(fmt::format("{}: cuInit failed: {}; run nvidia-smi to see whether the driver works", api.library,
                                describe(api, result)));
}

/// Errors after which, by cuda.h, the process can do no more CUDA work. Numbers, as older headers lack some names.
bool is_sticky(CUresult result) {
  constexpr std::array kSticky = {
      214,  // ECC_UNCORRECTABLE
      220,  // NVLINK_UNCORRECTABLE
      226,  // CONTAINED
      700,  // ILLEGAL_ADDRESS
      702,  // LAUNCH_TIMEOUT
      710,  // ASSERT
      714,  // HARDWARE_STACK_ERROR
      715,  // ILLEGAL_INSTRUCTION
      716,  // MISALIGNED_ADDRESS
      717,  // INVALID_ADDRESS_SPACE
      718,  // INVALID_PC
      719,  // LAUNCH_FAILED
      721,  // TENSOR_MEMORY_LEAK
  };
  return std::find(kSticky.begin(), kSticky.end(), static_cast<int>(result)) != kSticky.end();
}

std::string gib(std::size_t bytes) { return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30)); }

}  // namespace

const CudaApi& cuda() {
  static const CudaApi api = load_driver();
  return api;
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const std::string message = fmt::format("{} failed: {}", call, describe(cuda(), result));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfMemoryError(message + "; use smaller sizes");
  if (is_sticky(result)) throw DeviceLostError(message + "; this process can no longer use the GPU, start it again");
  if (result == CUDA_ERROR_NOT_INITIALIZED) {
    throw DeviceError(message +
                      "; a child of fork() cannot use the GPU that its parent used: fork before, or spawn it");
  }
  throw DeviceError(message);
}

void check_in_destructor(CUresult result, const char* call) noexcept {
  if (result == CUDA_SUCCESS) return;
  // A lost GPU has been reported already, a driver that was shut down at exit has cleaned up by itself, and a child of
  // fork() has nothing to clean up.
  const bool known = is_sticky(result) || result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_NOT_INITIALIZED;
  log::write(known ? log::Level::debug : log::Level::warning,
             fmt::format("{} failed: {}", call, describe(cuda(), result)));
}

#define MMTUNE_CUDA_IN_DESTRUCTOR(call) check_in_destructor(cuda().call, #call)

void DestroyStream::operator()(CUstream stream) const noexcept { MMTUNE_CUDA_IN_DESTRUCTOR(cuStreamDestroy(stream)); }
void DestroyEvent::operator()(CUevent event) const noexcept {
  const HarmlessToCaptures harmless;
  MMTUNE_CUDA_IN_DESTRUCTOR(cuEventDestroy(event));
}
void DestroyModule::operator()(CUmodule module) const noexcept {
  const HarmlessToCaptures harmless;
  MMTUNE_CUDA_IN_DESTRUCTOR(cuModuleUnload(module));
}
void DestroyGraph::operator()(CUgraph graph) const noexcept { MMTUNE_CUDA_IN_DESTRUCTOR(cuGraphDestroy(graph)); }
void DestroyGraphExec::operator()(CUgraphExec graph) const noexcept {
  MMTUNE_CUDA_IN_DESTRUCTOR(cuGraphExecDestroy(graph));
}
void FreeMemory::operator()(CUdeviceptr memory) const noexcept {
  const HarmlessToCaptures harmless;
  MMTUNE_CUDA_IN_DESTRUCTOR(cuMemFree(memory));
}

DriverVersion driver_version() {
  int version = 0;
  MMTUNE_CUDA(cuDriverGetVersion(&version));
  return {version_text(version), driver_release()};
}

std::string driver_release() {
  std::ifstream file("/proc/driver/nvidia/version");
  return parse_driver_release({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

std::string parse_driver_release(const std::string& text) {
  const auto module = text.find("Kernel Module");
  if (module == std::string::npos) return "";
  std::istringstream words(text.substr(module));
  for (std::string word; words >> word;) {
    const bool numeric = word.find_first_not_of("0123456789.") == std::string::npos;
    if (numeric && word.find('.') != std::string::npos) return word;
  }
  return "";
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const HarmlessToCaptures harmless;
  CUdeviceptr address = 0;
  const CUresult result = cuda().cuMemAlloc(&address, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t free = 0;
    std::size_t total = 0;
    MMTUNE_CUDA(cuMemGetInfo(&free, &total));
    throw OutOfMemoryError(fmt::format("cannot allocate {} on the GPU: {} of {} are free; use smaller sizes",
                                       gib(bytes), gib(free), gib(total)));
  }
  check(result, "cuMemAlloc(&address, bytes)");
  memory_ = Handle<CUdeviceptr, FreeMemory>(address);
}

void HarmlessToCaptures::exchange() {
  check_in_destructor(cuda().cuThreadExchangeStreamCaptureMode(&mode_), "cuThreadExchangeStreamCaptureMode(&mode_)");
}

Stream make_stream() {
  CUstream stream = nullptr;
  MMTUNE_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return Stream(stream);
}

Event make_event() {
  const HarmlessToCaptures harmless;
  CUevent event = nullptr;
  MMTUNE_CUDA(cuEventCreate(&event, CU_EVENT_DEFAULT));
  return Event(event);
}

bool is_capturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  MMTUNE_CUDA(cuStreamIsCapturing(stream, &status));
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool may_be_capturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return cuda().cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Module load_module(const std::string& image) {
  const HarmlessToCaptures harmless;
  std::array<char, 4096> log{};
  std::array options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // The driver takes sizes in place of pointers.
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  CUmodule module = nullptr;
  const CUresult result =
      cuda().cuModuleLoadDataEx(&module, image.c_str(), options.size(), options.data(), values.data());
  check(
      result,
      fmt::format("cuModuleLoadDataEx of {} bytes{}{}", image.size(), log[0] != '\0' ? ": " : "", log.data()).c_str());
  return Module(module);
}

CUfunction find_function(const Module& module, const std::string& name) {
  const HarmlessToCaptures harmless;  // A driver that loads lazily does so here.
  CUfunction function = nullptr;
  check(cuda().cuModuleGetFunction(&function, module.get(), name.c_str()),
        fmt::format("cuModuleGetFunction of \"{}\"", name).c_str());
  return function;
}

int gpu_count() {
  int count = 0;
  const CUresult result = cuda().cuDeviceGetCount(&count);
  // What the driver answers after a cuInit that found no GPU.
  if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_NOT_INITIALIZED) return 0;
  check(result, "cuDeviceGetCount(&count)");
  return count;
}

CUdevice device_at(int ordinal) {
  const int count = gpu_count();
  if (count == 0)
    throw DeviceError(fmt::format("device {}: the driver offers no GPU; run nvidia-smi to see why", ordinal));
  if (ordinal < 0 || ordinal >= count) {
    throw DeviceError(fmt::format("device {}: no such GPU; choose one of 0 to {}", ordinal, count - 1));
  }
  CUdevice device = 0;
  MMTUNE_CUDA(cuDeviceGet(&device, ordinal));
  return device;
}

Gpu::Gpu(int ordinal) : device_(device_at(ordinal)) {
  MMTUNE_CUDA(cuCtxGetCurrent(&previous_));
  MMTUNE_CUDA(cuDevicePrimaryCtxRetain(&context_, device_));
  const CUresult result = cuda().cuCtxSetCurrent(context_);
  if (result == CUDA_SUCCESS) return;
  MMTUNE_CUDA_IN_DESTRUCTOR(cuDevicePrimaryCtxRelease(device_));
  check(result, "cuCtxSetCurrent(context_)");
}

Gpu::~Gpu() {
  CUcontext current = nullptr;
  MMTUNE_CUDA_IN_DESTRUCTOR(cuCtxGetCurrent(&current));
  if (current == context_) MMTUNE_CUDA_IN_DESTRUCTOR(cuCtxSetCurrent(previous_));
  MMTUNE_CUDA_IN_DESTRUCTOR(cuDevicePrimaryCtxRelease(device_));
}

}  // namespace mmtune
