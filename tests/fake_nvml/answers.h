// What the library that pretends to be NVML answers. It knows one GPU.
#pragma once

namespace mmtune::test {

/// A number of -1: the function fails, as where a GPU lacks the sensor.
struct NvmlAnswers {
  bool starts = true;
  int sm_clock_mhz = 1410;
  int memory_clock_mhz = 2619;
  int application_clock_mhz = 1500;
  int highest_clock_mhz = 1980;
  int power_mw = 650'500;
  int power_limit_mw = 700'000;
  int reasons = 0;
  int processes = 1;
  int sessions = 0;  ///< the sessions that were started and not shut down
};

inline constexpr const char* kFakeGpu = "GPU-fake";

}  // namespace mmtune::test
