// What the analytic model knows of GPUs beyond their limits: rates and latencies, and where they come from.
//
//   instructions     CUDA C++ Programming Guide, "Arithmetic Instructions"; four schedulers issue a warp a clock each
//   shared memory    ibid., "Shared Memory" of any compute capability: 32 banks of 4 bytes a clock
//   device memory    Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, and Luo et
//                    al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024,
//                    rounded to what holds for both
//   all others       set by hand to lie near 9000 times of simt on an H200; no size or configuration is named. So L2 is
//                    that of a GPU all of whose SMs load
//   sums of parts,   fitted to 12349 times of simt at 1250 sizes of a cover on an H200: what a launch, a part and a
//   stores, launches byte add
//   the accelerator  fitted to 9442 times of wgmma at the sizes of the table beside cuBLAS, in five precisions; what it
//                    fetches from L2 was measured alone
//   copies by        set to lie near the squares of a race with cuBLAS on an H200
//   threads
//
// docs/measuring.md says how, and how far off the model is with them.
#pragma once

#include <array>
#include <cstddef>

#include "templates/gpu/device_spec.h"
#include "templates/plan/launch_plan.h"

namespace mmtune {

inline constexpr double kSchedulers = 4;              // of an SM
inline constexpr double kReady = 0.85;                // probability that a warp of unrolled multiply-adds can issue
inline constexpr double kSmemBytesPerClock = 128;     // of an SM
inline constexpr double kL2BytesPerClockAlone = 64;   // of an SM while few others load
inline constexpr double kL2BytesPerClockShared = 25;  // of an SM while all load
inline constexpr double kSmemLatency = 40;            // clocks from a load to its use
inline constexpr double kL2Latency = 500;             // clocks
inline constexpr double kMemoryLatency = 600;         // clocks
inline constexpr double kBarrierLatency = 40;         // clocks
inline constexpr double kClusterBytesPerClock = 24;   // of an SM, that sums over a cluster
inline constexpr int kGpcSms = 18;                    // of a GPC, in which a cluster lies; 16 in some of a Hopper GPU's
inline constexpr double kNextLaunchUs = 0.6;          // of one that follows in the same graph: measured on an H200
inline constexpr double kStraddle = 0.7;              // of a line's time, that one takes more whose bytes lie in two
inline constexpr int kStoreAlign = 16;                // bytes, of rows that are stored at full speed
inline constexpr int kPartsAtOnce = 8;                // that a thread reads of a sum before it waits for any,
inline constexpr double kPartClocks = 60;             // and of each part more
inline constexpr double kUnalignedBytesPerClock = 16;  // of an SM, besides, of results whose rows are not aligned

/// What a way of fetching reaches.
struct FetchRates {
  double l2_bytes_per_clock;    ///< of an SM while all load
  double read_share;            ///< of the bandwidth of device memory; 1: what it falls short is in other constants
  double store_share;           ///< likewise
  double launch_us;             ///< of the first kernel
  double copy_us;               ///< of one that first copies operands, besides,
  double copy_bytes_per_clock;  ///< and what it reads and writes, of an SM
};
inline constexpr std::array<FetchRates, kFetches> kFetchRates{{
    // loads, through registers
    {.l2_bytes_per_clock = kL2BytesPerClockShared,
     .read_share = 1,
     .store_share = 1,
     .launch_us = 1.65,
     .copy_us = 3,
     .copy_bytes_per_clock = 20},
    // copies by threads
    {.l2_bytes_per_clock = 45,
     .read_share = 1,
     .store_share = 0.66,
     .launch_us = 1.65,
     .copy_us = 3,
     .copy_bytes_per_clock = 20},
    // the accelerator
    {.l2_bytes_per_clock = 58,
     .read_share = 0.76,
     .store_share = 0.73,
     .launch_us = 1.2,
     .copy_us = 1.4,
     .copy_bytes_per_clock = 14},
}};

inline const FetchRates& rates_of(Fetch fetch) { return kFetchRates[static_cast<std::size_t>(fetch)]; }

inline double memory_bytes_per_clock(const DeviceSpec& device) {
  return device.memory_bandwidth_gb_s * 1e3 / device.core_clock_mhz;
}

}  // namespace mmtune
