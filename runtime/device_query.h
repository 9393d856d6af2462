// The limits of an installed GPU, read from the driver.
#pragma once

#include "templates/device_spec.h"

namespace mmtune {

/// Every member of DeviceSpec from the driver's attributes. Throws DeviceError.
DeviceSpec query_device(int ordinal);

}  // namespace mmtune
