// How good the analytic model is: its times against stored ones.
#pragma once

#include <string>
#include <vector>

#include "templates/gpu/device_spec.h"
#include "tuner/replay/timed_trials.h"
#include "tuner/text/report.h"

namespace mmtune {

/// The quality for one problem. A loss is by which share a choice is slower than the fastest stored trial.
struct ModelQuality {
  Problem problem;
  int configurations = 0;     ///< the configurations that have a time
  double spearman = 0;        ///< the rank correlation of their predicted and their stored times
  double loss_first = 0;      ///< the loss of the one that the model expects most of
  double loss_best_of_8 = 0;  ///< the loss of the fastest of the eight that it expects most of
};

/// The quality for a problem with at least one trial that was right; before anything is compiled, as a search sees it.
ModelQuality quality_of(const TimedProblem& problem, const DeviceSpec& device);

/// csv and json: precision,m,n,k,configurations,spearman,loss_first,loss_best_of_8.
Table quality_table(const std::vector<ModelQuality>& rows, Format format);

/// Geometric means over the problems: "first 4.2 %, best of eight 0.8 % slower than the best of 6 problems".
std::string quality_summary(const std::vector<ModelQuality>& rows);

}  // namespace mmtune
