// Functions of NVML's API, as far as runtime/gpu/nvml.cpp uses them; numbers are those of the API's reference.
#include <cstring>

#include "tests/fake_nvml/answers.h"

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kNotFound = 6, kInsufficientSize = 7, kUnknown = 999;
constexpr int kGraphics = 0, kSm = 1, kMemory = 2;

template <class T>
int answer(int value, T* place) {
  if (value < 0) return kNotSupported;
  *place = static_cast<T>(value);
  return kSuccess;
}

}  // namespace

extern "C" {

mmtune::test::NvmlAnswers mmtune_fake_answers;

int nvmlInit_v2() {
  if (!mmtune_fake_answers.starts) return kUnknown;
  ++mmtune_fake_answers.sessions;
  return kSuccess;
}

int nvmlShutdown() {
  --mmtune_fake_answers.sessions;
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strcmp(uuid, mmtune::test::kFakeGpu) != 0) return kNotFound;
  *device = &mmtune_fake_answers;
  return kSuccess;
}

int nvmlDeviceGetClockInfo(void*, int domain, unsigned* mhz) {
  if (domain == kSm) return answer(mmtune_fake_answers.sm_clock_mhz, mhz);
  return domain == kMemory ? answer(mmtune_fake_answers.memory_clock_mhz, mhz) : kNotSupported;
}

int nvmlDeviceGetApplicationsClock(void*, int domain, unsigned* mhz) {
  return domain == kGraphics ? answer(mmtune_fake_answers.application_clock_mhz, mhz) : kNotSupported;
}

int nvmlDeviceGetMaxClockInfo(void*, int domain, unsigned* mhz) {
  return domain == kSm ? answer(mmtune_fake_answers.highest_clock_mhz, mhz) : kNotSupported;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* mw) { return answer(mmtune_fake_answers.power_mw, mw); }

int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* mw) { return answer(mmtune_fake_answers.power_limit_mw, mw); }

int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  return answer(mmtune_fake_answers.reasons, bits);
}

/// Answers as the real one does: with too little room only the count comes back, and an error.
int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* count, void*) {
  const unsigned room = *count;
  const int result = answer(mmtune_fake_answers.processes, count);
  return result == kSuccess && *count > room ? kInsufficientSize : result;
}

}  // extern "C"
