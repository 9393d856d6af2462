#include "runtime/gpu/nvml.h"

#include <mmtune/error.h>

#include "db/trial.h"
#include "runtime/base/dynamic_library.h"
#include "runtime/base/log.h"

namespace mmtune {
namespace {

// These declarations follow the NVML API reference; its header is not part of every toolkit. Its handles are pointers
// to a type without a definition: were that declared here, g++ 13 would crash where a whole folder is compiled
// together.
using Device = void*;
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kInsufficientSize = 7;
constexpr int kClockGraphics = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;

}  // namespace

/// NVML, initialised, and a GPU's handle in it.
struct Nvml::Session {
  Session(const std::string& uuid, const std::vector<std::string>& libraries)
      : library_(DynamicLibrary::open("NVML", libraries, "it is part of NVIDIA's driver")) {
    // The sensors may each be missing; they are null then.
    set(clock, library_.find("nvmlDeviceGetClockInfo"));
    set(application_clock, library_.find("nvmlDeviceGetApplicationsClock"));
    set(highest_clock, library_.find("nvmlDeviceGetMaxClockInfo"));
    set(power, library_.find("nvmlDeviceGetPowerUsage"));
    set(power_limit, library_.find("nvmlDeviceGetEnforcedPowerLimit"));
    set(reasons, library_.find("nvmlDeviceGetCurrentClocksThrottleReasons"));
    set(running, library_.find("nvmlDeviceGetComputeRunningProcesses"));
    set(shut_down, library_.require("nvmlShutdown"));
    Result (*init)() = nullptr;
    Result (*by_uuid)(const char*, Device*) = nullptr;
    set(init, library_.require("nvmlInit_v2"));
    set(by_uuid, library_.require("nvmlDeviceGetHandleByUUID"));
    if (init() != kSuccess) throw DeviceError("NVML cannot be initialised; check the driver with nvidia-smi");
    if (by_uuid(uuid.c_str(), &device) != kSuccess) {
      shut_down();
      throw DeviceError("NVML does not know GPU " + uuid + "; check the driver with nvidia-smi");
    }
  }
  ~Session() { shut_down(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The value of a query that fills in its last argument; nothing if it fails or is missing, or without a session.
  template <class T, class Query, class... Args>
  static std::optional<T> ask(const std::shared_ptr<const Session>& session, Query Session::*query, Args... args) {
    T value{};
    if (session == nullptr || (*session).*query == nullptr) return std::nullopt;
    if (((*session).*query)(session->device, args..., &value) != kSuccess) return std::nullopt;
    return value;
  }

  Device device = nullptr;
  Result (*shut_down)() = nullptr;
  Result (*clock)(Device, int, unsigned*) = nullptr;
  Result (*application_clock)(Device, int, unsigned*) = nullptr;
  Result (*highest_clock)(Device, int, unsigned*) = nullptr;
  Result (*power)(Device, unsigned*) = nullptr;
  Result (*power_limit)(Device, unsigned*) = nullptr;
  Result (*reasons)(Device, unsigned long long*) = nullptr;
  Result (*running)(Device, unsigned*, void*) = nullptr;

 private:
  template <class Function>
  static void set(Function*& function, void* address) {
    function = reinterpret_cast<Function*>(address);
  }

  DynamicLibrary library_;
};

namespace {

std::optional<int> whole(std::optional<unsigned> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<double> watts(std::optional<unsigned> milliwatts) {
  return milliwatts ? std::optional(*milliwatts / 1000.0) : std::nullopt;
}

}  // namespace

Nvml::Nvml(const std::string& uuid) : Nvml(uuid, {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"}) {}

Nvml::Nvml(const std::string& uuid, const std::vector<std::string>& libraries) {
  try {
    session_ = std::make_shared<const Session>(uuid, libraries);
  } catch (const DeviceError& error) {
    log::debug("clocks and power are unknown: {}", error.what());
  }
}

std::optional<int> Nvml::sm_clock_mhz() const {
  return whole(Session::ask<unsigned>(session_, &Session::clock, kClockSm));
}

std::optional<int> Nvml::memory_clock_mhz() const {
  return whole(Session::ask<unsigned>(session_, &Session::clock, kClockMemory));
}

std::optional<int> Nvml::clock_limit_mhz() const {
  const auto set = whole(Session::ask<unsigned>(session_, &Session::application_clock, kClockGraphics));
  return set ? set : whole(Session::ask<unsigned>(session_, &Session::highest_clock, kClockSm));
}

std::optional<double> Nvml::power_w() const { return watts(Session::ask<unsigned>(session_, &Session::power)); }

std::optional<double> Nvml::power_limit_w() const {
  return watts(Session::ask<unsigned>(session_, &Session::power_limit));
}

int Nvml::throttle() const {
  const auto reasons = Session::ask<unsigned long long>(session_, &Session::reasons);
  return static_cast<int>(reasons.value_or(0) & kThrottleMask);
}

std::optional<int> Nvml::processes() const {
  if (!session_ || session_->running == nullptr) return std::nullopt;
  unsigned count = 0;  // Only the count comes back where there is no room for details.
  const Result result = session_->running(session_->device, &count, nullptr);
  if (result != kSuccess && result != kInsufficientSize) return std::nullopt;
  return static_cast<int>(count);
}

}  // namespace mmtune
