#include "tests/fake_cuda/fake_cuda.h"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/operands.h"

namespace mmtune::test {
namespace {

struct Program {
  CUcontext context = nullptr;
  unsigned most_smem_bytes = 48 << 10;  ///< the dynamic shared memory that a launch may ask for
  bool computes = false;
  NumberFormat a{}, b{}, c{}, scalar{};
  int bytes_a = 0, bytes_b = 0, bytes_c = 0, bytes_scalar = 0;
  bool transposes_a = false, transposes_b = false;
  double us = 0;  ///< the time that it pretends to take
};

struct RecordedEvent {
  CUcontext context = nullptr;
  std::atomic<bool> is_recorded = false;
  std::atomic<double> us = 0;  ///< when it was reached, on the clock of all kernels
};

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult end_capture(CUresult result) {
  ++fake_cuda().broken_captures;
  return result;
}

/// How long a launch takes: as long as the program, or longer by a part of it that changes from launch to launch.
double duration_us(const Program& program) {
  static std::atomic<std::uint32_t> state = 1;
  std::uint32_t bits = (state += 0x9e3779b9U);
  bits = (bits ^ (bits >> 16)) * 0x85ebca6bU;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35U;
  return program.us * (1 + fake_cuda().noise * (bits >> 8) / 0x1p24);
}

/// Contexts and devices are only told apart.
int primary_contexts[8] = {};  // one for each device
thread_local CUcontext current = nullptr;

CUresult usable() { return fake_cuda().is_of_parent ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS; }

CUresult in_context() {
  if (usable() != CUDA_SUCCESS) return usable();
  return current == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

/// The result of a call that a capture in the global mode forbids to every thread.
CUresult beside_captures() {
  if (!fake_cuda().is_capturing || capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return in_context();
  return end_capture(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

/// Whether the stream is the default one, which would wait for a stream that is captured.
bool is_unusable(CUstream stream) {
  return fake_cuda().is_capturing && (stream == nullptr || stream == CU_STREAM_LEGACY);
}

/// The result of work for a stream.
CUresult in_stream(CUstream stream) {
  return is_unusable(stream) ? end_capture(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) : in_context();
}

Program parse(const char* image) {
  Program program;
  if (std::strncmp(image, kIdleProgram.data(), kIdleProgram.size()) == 0) {
    program.us = std::atof(image + kIdleProgram.size());
    return program;
  }
  if (std::strncmp(image, kFakeProgram.data(), kFakeProgram.size()) != 0) return program;
  std::istringstream text(image + kFakeProgram.size());
  int a = 0, b = 0, c = 0, scalar = 0;
  text >> a >> b >> c >> scalar >> program.bytes_a >> program.bytes_b >> program.bytes_c >> program.bytes_scalar >>
      program.transposes_a >> program.transposes_b >> program.us;
  program.a = static_cast<NumberFormat>(a);
  program.b = static_cast<NumberFormat>(b);
  program.c = static_cast<NumberFormat>(c);
  program.scalar = static_cast<NumberFormat>(scalar);
  program.computes = true;
  return program;
}

double load(NumberFormat format, int bytes, CUdeviceptr base, std::int64_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const char*>(base) + index * bytes, static_cast<std::size_t>(bytes));
  return decode(format, bits);
}

/// The arguments of blas_arguments().
void multiply(const Program& program, void** arguments) {
  const auto number = [&](int i) { return *static_cast<std::int64_t*>(arguments[i]); };
  const auto address = [&](int i) { return *static_cast<CUdeviceptr*>(arguments[i]); };
  const auto scalar = [&](int i) {
    return load(program.scalar, program.bytes_scalar, reinterpret_cast<CUdeviceptr>(arguments[i]), 0);
  };
  const std::int64_t m = number(0), n = number(1), k = number(2), lda = number(5), ldb = number(7), ldc = number(10);
  const double alpha = scalar(3), beta = scalar(8);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        sum += load(program.a, program.bytes_a, address(4), program.transposes_a ? l * lda + row : row * lda + l) *
               load(program.b, program.bytes_b, address(6), program.transposes_b ? column * ldb + l : l * ldb + column);
      }
      const std::int64_t place = row * ldc + column;
      const double before = beta == 0 ? 0 : beta * load(program.c, program.bytes_c, address(9), place);
      const std::uint64_t bits = encode(program.c, alpha * sum + before);
      std::memcpy(reinterpret_cast<char*>(address(9)) + place * program.bytes_c, &bits,
                  static_cast<std::size_t>(program.bytes_c));
    }
  }
}

int attribute_of_an_h200(CUdevice_attribute attribute) {
  static const std::map<int, int> values = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
                                            {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
                                            {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
                                            {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
                                            {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                                            {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
                                            {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
                                            {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
                                            {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
                                            {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
                                            {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
                                            {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
                                            {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
                                            {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
                                            {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
                                            {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62914560},
                                            {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
                                            {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
                                            {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144}};
  const auto found = values.find(attribute);
  return found == values.end() ? 0 : found->second;
}

/// Limits of a launch: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
bool can_launch(const CUlaunchConfig& config, const Program& program) {
  std::array<unsigned, 3> cluster = {1, 1, 1};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& [x, y, z] = config.attrs[i].value.clusterDim;
    cluster = {x, y, z};
  }
  const std::array grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  constexpr std::array kMost = {2147483647U, 65535U, 65535U};
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (grid[i] == 0 || grid[i] > kMost[i] || cluster[i] == 0 || grid[i] % cluster[i] != 0) return false;
  }
  const unsigned threads = config.blockDimX * config.blockDimY * config.blockDimZ;
  return threads > 0 && threads <= 1024 && config.sharedMemBytes <= program.most_smem_bytes;
}

}  // namespace

FakeCuda& fake_cuda() {
  static FakeCuda fake;
  return fake;
}

}  // namespace mmtune::test

using namespace mmtune::test;  // NOLINT(google-build-using-namespace): what follows is the driver's

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, const char** text) {
  *text = "CUDA_ERROR_PRETENDED";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "pretended";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = fake_cuda().devices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < fake_cuda().devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, "NVIDIA H200", static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
  std::memset(uuid, 7, sizeof(*uuid));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute_of_an_h200(attribute);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{140} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(&primary_contexts[device]);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return usable(); }
CUresult cuCtxGetCurrent(CUcontext* context) {
  if (usable() != CUDA_SUCCESS) return usable();
  *context = current;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  if (usable() != CUDA_SUCCESS) return usable();
  current = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = static_cast<CUdevice>(reinterpret_cast<int*>(current) - primary_contexts);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  if (const CUresult result = beside_captures(); result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  ++fake_cuda().allocations;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  if (const CUresult result = beside_captures(); result != CUDA_SUCCESS) return result;
  ++fake_cuda().frees;
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  if (const CUresult result = in_stream(stream); result != CUDA_SUCCESS) return result;
  ++fake_cuda().graph_allocations;
  ++fake_cuda().graph_memories;
  *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return CUDA_SUCCESS;
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  if (const CUresult result = in_stream(stream); result != CUDA_SUCCESS) return result;
  --fake_cuda().graph_memories;
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  if (const CUresult result = beside_captures(); result != CUDA_SUCCESS) return result;
  ++fake_cuda().loaded_programs;
  auto* program = new Program(parse(static_cast<const char*>(image)));
  program->context = current;
  *module = reinterpret_cast<CUmodule>(program);
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}
CUresult cuModuleUnload(CUmodule module) {
  auto* program = reinterpret_cast<Program*>(module);
  if (const CUresult result = beside_captures(); result != CUDA_SUCCESS) {
    // What a child of fork() cannot unload is its parent's, and no leak.
    static std::vector<Program*>& of_parent = *new std::vector<Program*>;
    if (fake_cuda().is_of_parent) of_parent.push_back(program);
    return result;
  }
  if (program->context != current) return CUDA_ERROR_INVALID_CONTEXT;
  delete program;
  return CUDA_SUCCESS;
}
/// A driver that loads lazily does so here.
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char*) {
  *function = reinterpret_cast<CUfunction>(module);
  return beside_captures();
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  if (value > attribute_of_an_h200(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  unsigned& most = reinterpret_cast<Program*>(function)->most_smem_bytes;
  most = std::max(most, static_cast<unsigned>(value));  // All functions of a module are one here.
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void**) {
  const auto& program = *reinterpret_cast<const Program*>(function);
  if (program.us > 0 && program.us == fake_cuda().launch_fails_us) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (const CUresult result = in_stream(config->hStream); result != CUDA_SUCCESS) return result;
  if (program.context != current) return CUDA_ERROR_INVALID_HANDLE;
  if (!can_launch(*config, program)) return CUDA_ERROR_INVALID_VALUE;
  ++fake_cuda().launches;
  fake_cuda().busy_us.fetch_add(duration_us(program));
  fake_cuda().last_stream = config->hStream;
  fake_cuda().last_layers = config->gridDimZ;
  CUdevice device = -1;
  cuCtxGetDevice(&device);
  fake_cuda().last_device = device;
  if (program.computes) multiply(program, arguments);
  return CUDA_SUCCESS;
}
/// FakeCuda::last_stream for tests in Python.
void* fake_cuda_last_stream() { return fake_cuda().last_stream; }

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuStreamIsCapturing(stream, &status);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) return end_capture(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  *id = reinterpret_cast<std::uintptr_t>(stream) + fake_cuda().reused_handles;
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  if (is_unusable(stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  const void* captured = fake_cuda().captured_stream;
  const bool is_captured = fake_cuda().is_capturing && (captured == nullptr || captured == stream);
  *status = is_captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return usable();
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  if (const CUresult result = beside_captures(); result != CUDA_SUCCESS) return result;
  auto* recorded = new RecordedEvent;
  recorded->context = current;
  *event = reinterpret_cast<CUevent>(recorded);
  ++fake_cuda().events;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  if (const CUresult result = beside_captures(); result != CUDA_SUCCESS) return result;
  delete reinterpret_cast<RecordedEvent*>(event);
  --fake_cuda().events;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (const CUresult result = in_stream(stream); result != CUDA_SUCCESS) return result;
  auto& recorded = *reinterpret_cast<RecordedEvent*>(event);
  if (recorded.context != current) return CUDA_ERROR_INVALID_HANDLE;
  recorded.is_recorded = true;
  recorded.us = fake_cuda().busy_us.load();
  ++fake_cuda().recorded_events;
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent) {
  if (const CUresult result = beside_captures(); result != CUDA_SUCCESS) return result;
  return fake_cuda().is_behind ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* ms, CUevent begin, CUevent end) {
  const auto &first = *reinterpret_cast<RecordedEvent*>(begin), &last = *reinterpret_cast<RecordedEvent*>(end);
  if (!first.is_recorded || !last.is_recorded) return CUDA_ERROR_INVALID_HANDLE;
  *ms = static_cast<float>((last.us - first.us) / 1000);
  return CUDA_SUCCESS;
}
/// Refuses what the requirements of cuda.h exclude, as far as maps without elements of fewer than 8 bits go.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank, void* address,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  bool is_good = reinterpret_cast<std::uintptr_t>(map) % 64 == 0 && reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  is_good = is_good && address != nullptr && rank >= 1 && rank <= 5;
  for (cuuint32_t i = 0; is_good && i < rank; ++i) {
    is_good = extents[i] >= 1 && extents[i] <= 1ULL << 32 && box[i] >= 1 && box[i] <= 256;
    if (i > 0) is_good = is_good && strides[i - 1] % 16 == 0 && strides[i - 1] < 1ULL << 40;
  }
  return is_good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"
