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
  TrialKey key;   ///< the key of the trial that becomes of it
  Binary binary;  ///< what it compiled to, with its cubin
};

}  // namespace mmtune
