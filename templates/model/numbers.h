// The numbers of the analytic model beyond the limits of GPUs (templates/gpu/architectures.h): rates, latencies, and
// what kernels issue and hold. numbers.def is the table, a row each with its unit, its source and its values by
// architecture.
#pragma once

#include <string_view>
#include <vector>

#include "templates/gpu/device_spec.h"

namespace mmtune {

/// The values for one architecture.
struct ModelNumbers {
#define MMTUNE_NUMBER(name, ...) double name = 0;
#include "templates/model/numbers.def"
#undef MMTUNE_NUMBER
};

/// How a number came about.
enum class NumberOrigin {
  specification,  ///< The vendor says so.
  paper,          ///< Others measured it.
  measured,       ///< It was measured alone.
  fitted,         ///< Measured times of whole kernels lie near the model with it.
  counted,        ///< It counts instructions of a kernel's text.
  compiled,       ///< ptxas reports these registers.
};
std::string_view to_string(NumberOrigin origin);

struct NumberSource {
  NumberOrigin origin;
  std::string_view text;  ///< a document, or times on a GPU, with the file where they are kept
};

struct NumberValue {
  int from;  ///< the compute capability that it holds from, 90 for 9.0; 0: all
  double value;
};

struct ModelNumber {
  std::string_view name;
  std::string_view unit;  ///< empty for a share, a factor or a count
  NumberSource source;
  std::string_view meaning;
  double ModelNumbers::*member;
  std::vector<NumberValue> values;  ///< the values, ascending; there is one

  /// The value of the newest architecture up to this one, else the first.
  const NumberValue& value_for(int compute_capability) const;
};

/// The table, in its order.
const std::vector<ModelNumber>& model_number_rows();

/// The device's own (`DeviceSpec::numbers`), or those of its architecture, which live for ever.
const ModelNumbers& model_numbers(const DeviceSpec& device);

/// Registers and other things that are counted: what is left of one is none.
constexpr int whole(double count) { return static_cast<int>(count); }

}  // namespace mmtune
