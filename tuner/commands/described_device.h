// The GPU that a verb is about which measures nothing.
#pragma once

#include <vector>

#include "tuner/commands/options.h"
#include "tuner/devices/device_choice.h"

namespace mmtune {

/// What --device means, see choose_described_device(): the database is asked for its GPUs where that is "auto". One
/// that does not exist has none. Throws UsageError, DeviceError, DatabaseError.
DeviceChoice described_device(const Options& options);
std::vector<DeviceChoice> described_devices(const Options& options);

/// The options of `mmtune tune` that name this problem, device and database: "--device model:t4 --sizes 512x512x512
/// --precision bf16 --db t4.db". `device` is what --device means.
std::string tune_options(const DeviceChoice& device, const Options& options, const Problem& problem);

}  // namespace mmtune
