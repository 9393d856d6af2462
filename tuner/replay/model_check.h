// The analytic model against a file of measured times: what `mmtune bench` or `mmtune show --trials` wrote as csv.
#pragma once

#include <string>
#include <vector>

#include "templates/gpu/device_spec.h"
#include "templates/model/cost.h"
#include "tuner/lanes/candidate.h"
#include "tuner/text/report.h"

namespace mmtune {

/// A line of the file: what was measured of a candidate, and what the model says of it before anything is compiled.
struct CheckedTime {
  std::string set;
  Problem problem;  ///< its operands are packed, as those of a benchmark are
  Candidate candidate;
  double measured_us = 0;
  Prediction prediction;

  double error() const { return prediction.time_us / measured_us - 1; }
};

/// The times of a file beside what the model expects of a device at its boost clock. Lines without a time are left
/// out, and with a warning those that the device does not run, unless it runs none. Throws what read_text_file()
/// throws, and UsageError for a file without one of the columns precision, layout, m, n, k, mmtune_us, family and
/// config, and for a line that says something that does not exist.
std::vector<CheckedTime> checked_times(const std::string& path, const DeviceSpec& device);

/// The errors of all lines of a precision and a family.
struct ModelError {
  Precision precision;
  std::string family;
  int rows = 0;
  double median_error = 0;  ///< the median of the errors without their signs, as shares of the measured times
  double worst_error = 0;   ///< the largest error; positive: the model expects more
  Problem worst;
  Bottleneck bottleneck;  ///< the bottleneck that the model names most often
};

/// The errors in the order of precisions, then of families' names.
std::vector<ModelError> model_errors(const std::vector<CheckedTime>& times);

/// csv and json: precision,family,rows,median_error,worst_error,worst_m,worst_n,worst_k,bottleneck.
Table error_table(const std::vector<ModelError>& rows, Format format);

/// Each time beside the one that the model expects before its correction, and what the correction is told: what
/// bench/fit_correction.py fits it to. Lines whose calls have no correction are left out. csv and json:
/// precision,layout,m,n,k,config,measured_us,analytic_us,power_factor,input_0,...
Table correction_table(const std::vector<CheckedTime>& times, const DeviceSpec& device);

/// "the model is off by 8.1 % (median of 141 times)". There must be a time.
std::string error_summary(const std::vector<CheckedTime>& times);

}  // namespace mmtune
