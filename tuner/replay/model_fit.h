// The model's fitted numbers, set anew by measured times: what another GPU needs to have values of its own.
#pragma once

#include <vector>

#include "templates/gpu/device_spec.h"
#include "templates/model/numbers.h"
#include "tuner/replay/model_check.h"
#include "tuner/text/report.h"

namespace mmtune {

/// A number whose change brings the model nearer to the times.
struct FittedNumber {
  const ModelNumber* number;
  double before = 0;
  double fitted = 0;
};

struct ModelFit {
  std::vector<FittedNumber> numbers;  ///< the numbers in the order of the table
  std::size_t times = 0;              ///< the number of times that they were fitted to
  double error_before = 0;            ///< the root mean square of the logarithms of expected over measured times
  double error_after = 0;
};

/// Changes again and again the one number that brings the model nearest to the times, by steps that shrink from a fifth
/// to a fiftieth, until no change saves a five-hundredth of the error. So it leaves alone what the times do not tell.
/// All numbers whose origin is NumberOrigin::fitted take part. A time that is off by more than a factor of e^0.5 counts
/// as that far off, so that single kernels do not decide. Of many times it takes a few thousand, evenly. There must be
/// a time. Takes seconds to a minute.
ModelFit fit_numbers(const std::vector<CheckedTime>& times, const DeviceSpec& device);

/// The row's entry in templates/model/numbers.def is in the column `entry`: "{100, 47.5}".
/// csv and json: name,unit,value,fitted,entry.
Table fit_table(const ModelFit& fit, const DeviceSpec& device);

/// "the model is off by 21.0 %, and by 12.3 % with 7 other numbers (root mean square of 2000 times)".
std::string fit_summary(const ModelFit& fit);

/// All numbers with the values for the device.
/// csv and json: name,unit,value,from,origin,source,meaning.
Table numbers_table(const DeviceSpec& device);

}  // namespace mmtune
