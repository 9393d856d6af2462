// What a lane runs.
#pragma once

#include "db/trial.h"
#include "templates/family/render.h"
#include "templates/plan/launch_plan.h"
#include "tuner/lanes/candidate.h"

namespace mmtune {

/// A candidate rendered for a problem and, before it is launched, compiled. A launch needs candidate, plan and binary.
struct Program {
  Candidate candidate;
  LaunchPlan plan;
  Source source;
  TrialKey key;   ///< of the trial that becomes of it
  Binary binary;  ///< with its cubin, once compiled
};

}  // namespace mmtune
