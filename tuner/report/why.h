// Why a winner is as fast as it is: floors, occupancy and where the model says that the time goes.
#pragma once

#include <cstdint>
#include <optional>

#include "db/trial.h"
#include "templates/gpu/occupancy.h"
#include "templates/model/cost.h"
#include "templates/model/floors.h"

namespace mmtune {

struct Why {
  Floors floors;            ///< the floors, with the peak of the precision's unit
  std::int64_t blocks = 0;  ///< the blocks of the step that multiplies
  BlockResources block;     ///< a block of that step, with the registers and the shared memory that are stored
  Occupancy occupancy;      ///< the occupancy of that block
  Prediction prediction;    ///< the expected time of the whole plan
};

/// The reasons; nothing where the family or one of its values is gone, or where the configuration cannot run there.
std::optional<Why> why_of(const Winner& winner, const DeviceSpec& device);

}  // namespace mmtune
