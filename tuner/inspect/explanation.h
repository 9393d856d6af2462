// Why a kernel takes the time that it takes, on one screen.
#pragma once

#include <optional>
#include <string>

#include "tuner/lanes/candidate.h"
#include "tuner/lanes/program.h"
#include "tuner/text/report.h"

namespace mmtune {

/// What is known of a kernel on a device.
struct Explained {
  DeviceSpec device;
  Program program;
  std::optional<Trial> trial = {};  ///< what became of it; nothing: it was never tried
  std::optional<Candidate> runner_up = {};
  double runner_up_us = 0;  ///< the runner-up's time, by the same evidence as the trial's
};

/// The settings in which another configuration of the same family differs: "BK 16 -> 32, STAGES 2 -> 3"; its family
/// where that is another.
std::string difference(const Candidate& from, const Candidate& to);

/// Rows of an aspect, its figure and what the figure is made of: time, floors, where the model says the time goes,
/// occupancy, grid, traffic, runner-up.
Table explanation_table(const Explained& explained);

}  // namespace mmtune
