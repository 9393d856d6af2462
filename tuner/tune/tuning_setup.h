// What the problems of a lane have in common.
#pragma once

#include <functional>

#include "db/store.h"
#include "tuner/lanes/lane.h"
#include "tuner/search/strategy.h"
#include "tuner/tune/code_memory.h"
#include "tuner/tune/deadlines.h"
#include "tuner/tune/family_spaces.h"
#include "tuner/tune/launches.h"
#include "tuner/tune/lost_compiles.h"
#include "tuner/tune/preparation.h"
#include "tuner/tune/run_progress.h"
#include "tuner/tune/session_options.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {

/// All must outlive what is tuned with it.
struct TuningSetup {
  const SessionOptions& options;
  const Effort& effort;
  SpaceMemory& spaces;
  const Preparation& preparation;
  Store& store;
  CompileQueue& compiler;
  LostCompiles& lost;
  CodeMemory& code;
  Lane& lane;
  TrialBatch& batch;              ///< the trials of listed candidates
  std::function<bool()> stopped;  ///< whether to end early with what there is
  RunProgress::Search& progress;  ///< the progress of the problem
  Pace pace = {};                 ///< what is compiled at once, and ahead
};

}  // namespace mmtune
