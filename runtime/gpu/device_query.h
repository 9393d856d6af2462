// The limits of an installed GPU, read from the driver.
#pragma once

#include <string>
#include <vector>

#include "templates/gpu/device_spec.h"

namespace mmtune {

/// Every member of DeviceSpec from the driver's attributes. Throws DeviceError.
DeviceSpec query_device(int ordinal);

/// A property of a GPU that nothing here depends on, for people to read.
struct DeviceProperty {
  std::string name;   ///< "copy engines"
  std::string value;  ///< a number, "yes" or "no"
  std::string unit;   ///< "MHz"; empty: a count
};

/// What the driver says of a GPU beyond DeviceSpec. Throws DeviceError.
std::vector<DeviceProperty> query_properties(int ordinal);

}  // namespace mmtune
