// The installed GPUs, asked for by a worker, so that CUDA stays out of this process.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "tuner/devices/device_choice.h"

namespace mmtune {

/// The installed GPUs, in the order of their numbers. Throws DeviceError as the driver does, and where that takes
/// longer than `limit`: many GPUs without persistence mode take long to wake up.
std::vector<DeviceSpec> installed_gpus(std::chrono::milliseconds limit = std::chrono::minutes(2));

/// The functions of tuner/devices/device_choice.h with these names, among the installed GPUs.
DeviceChoice choose_device(std::string_view text);
std::vector<DeviceChoice> choose_devices(std::string_view text);
DeviceChoice choose_described_device(std::string_view text, const StoredGpuQuery& stored = {});
std::vector<DeviceChoice> choose_described_devices(std::string_view text, const StoredGpuQuery& stored = {});

/// The GPU of a verb that has no use for a model: "auto" is GPU 0. Throws as choose_device(), and for a model
/// DeviceError, in which the verb does `what`: "bench measures".
DeviceChoice choose_gpu(std::string_view text, std::string_view what);

/// An installed GPU that results with this key hold for; the driver is asked once. Never throws.
std::optional<DeviceSpec> installed_gpu(const DeviceKey& key);

/// The limits of a GPU that a database names: from the catalogue, else from an installed one; nothing if neither
/// knows it. Never throws.
std::optional<DeviceSpec> known_gpu(const DeviceKey& key);

}  // namespace mmtune
