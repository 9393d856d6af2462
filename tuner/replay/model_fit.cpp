#include "tuner/replay/model_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "templates/family/family.h"
#include "templates/model/cost.h"

namespace mmtune {
namespace {

constexpr std::size_t kMostTimes = 2500;
constexpr double kFarOff = 0.5;     ///< the logarithm beyond which a time is no farther off
constexpr double kFirstStep = 0.2;  ///< the share of a number by which it is changed
constexpr double kLastStep = 0.02;
constexpr double kLeastGain = 0.002;  ///< the share of the error that a change must save
constexpr int kMostChanges = 200;

/// Takes times evenly, with the first.
std::vector<const CheckedTime*> some_of(const std::vector<CheckedTime>& times) {
  std::vector<const CheckedTime*> some;
  const std::size_t step = (times.size() + kMostTimes - 1) / kMostTimes;
  for (std::size_t i = 0; i < times.size(); i += step) some.push_back(&times[i]);
  return some;
}

class NumberFit {
 public:
  NumberFit(const std::vector<CheckedTime>& times, const DeviceSpec& device)
      : times_(some_of(times)), device_(device), numbers_(model_numbers(device)) {
    device_.numbers = &numbers_;
    error_ = error();
  }
  NumberFit(const NumberFit&) = delete;  // device_ names numbers_
  NumberFit& operator=(const NumberFit&) = delete;

  ModelFit run() {
    ModelFit fit;
    fit.times = times_.size();
    fit.error_before = error_;
    const ModelNumbers before = numbers_;
    double step = kFirstStep;
    for (int changes = 0; changes < kMostChanges && step >= kLastStep; ++changes) {
      if (!change_best(step)) step /= 2;
    }
    fit.error_after = error_;
    for (const ModelNumber& row : model_number_rows()) {
      if (before.*row.member != numbers_.*row.member)
        fit.numbers.push_back({&row, before.*row.member, numbers_.*row.member});
    }
    return fit;
  }

 private:
  /// Changes the number that lowers the error most, if one lowers it by enough.
  bool change_best(double step) {
    double least = error_ * (1 - kLeastGain);
    double ModelNumbers::*best = nullptr;
    double best_value = 0;
    for (const ModelNumber& row : model_number_rows()) {
      if (row.source.origin != NumberOrigin::fitted) continue;
      const double value = numbers_.*row.member;
      for (const double changed : {value * (1 + step), value / (1 + step)}) {
        if (is_share(row, value) && changed > 1) continue;
        numbers_.*row.member = changed;
        if (const double then = error(); then < least) {
          least = then;
          best = row.member;
          best_value = changed;
        }
      }
      numbers_.*row.member = value;
    }
    if (best == nullptr) return false;
    numbers_.*best = best_value;
    error_ = least;
    return true;
  }

  /// Shares and probabilities are at most 1, factors are more.
  static bool is_share(const ModelNumber& row, double value) {
    return value <= 1 && (row.unit.empty() || row.unit == "probability");
  }

  double error() const {
    double sum = 0;
    for (const CheckedTime* time : times_) {
      const auto& [family, config] = time->candidate;
      const double expected =
          predict(time->problem, family->plan(time->problem, config, device_), device_, 0).analytic_us;
      const double off = std::min(kFarOff, std::abs(std::log(expected / time->measured_us)));
      sum += off * off;
    }
    return std::sqrt(sum / static_cast<double>(times_.size()));
  }

  std::vector<const CheckedTime*> times_;
  DeviceSpec device_;
  ModelNumbers numbers_;
  double error_ = 0;
};

}  // namespace

ModelFit fit_numbers(const std::vector<CheckedTime>& times, const DeviceSpec& device) {
  return NumberFit(times, device).run();
}

Table fit_table(const ModelFit& fit, const DeviceSpec& device) {
  using Row = FittedNumber;
  const int cc = compute_capability(device);
  const std::vector<CellOf<Row>> columns{
      {{"name"}, [](const Row& r) { return r.number->name; }},
      {{"unit"}, [](const Row& r) { return r.number->unit; }},
      {{"value", kRight}, [](const Row& r) { return Cell(r.before, 4); }},
      {{"fitted", kRight}, [](const Row& r) { return Cell(r.fitted, 4); }},
      {{"entry"}, [cc](const Row& r) { return fmt::format("{{{}, {:.3g}}}", cc, r.fitted); }},
  };
  return table_of(columns, fit.numbers);
}

std::string fit_summary(const ModelFit& fit) {
  return fmt::format(
      "the model is off by {:.1f} %, and by {:.1f} % with {} other numbers (root mean square of {} times)",
      100 * fit.error_before, 100 * fit.error_after, fit.numbers.size(), fit.times);
}

Table numbers_table(const DeviceSpec& device) {
  using Row = ModelNumber;
  const int cc = compute_capability(device);
  const std::vector<CellOf<Row>> columns{
      {{"name"}, [](const Row& r) { return r.name; }},
      {{"unit"}, [](const Row& r) { return r.unit; }},
      {{"value", kRight}, [cc](const Row& r) { return fmt::format("{}", r.value_for(cc).value); }},
      {{"from", kRight}, [cc](const Row& r) { return r.value_for(cc).from; }},
      {{"origin"}, [](const Row& r) { return to_string(r.source.origin); }},
      {{"source", Align::left, Fit::wraps}, [](const Row& r) { return r.source.text; }},
      {{"meaning", Align::left, Fit::wraps}, [](const Row& r) { return r.meaning; }},
  };
  return table_of(columns, model_number_rows());
}

}  // namespace mmtune
