#include "tuner/search/surrogate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace mmtune {
namespace {

// Standard deviations of what the model misses, as logarithms of time: most likely for 1800 times of an H200.
constexpr double kGroup = 0.2;           // an error that all of a group share; not among the 1800, which are of one
constexpr double kPart = 0.03;           // an error of the time that goes to one thing
constexpr double kOneParameter = 0.005;  // an error that all with a parameter's value share
constexpr double kCombination = 0.059;   // an error that candidates share which differ little
constexpr double kOwn = 0.009;           // an error of one candidate: what the compiler makes of it
constexpr double kUnmodelled = 0.8;      // the spread of what a model would have known, where there is none
constexpr double kStep = 0.04;           // how fast likeness fades with each step in a parameter's table
constexpr double kMix = 0.8;             // how fast likeness fades with the share of the time that goes to other things
constexpr double kLongStep = 0.3;        // how fast likeness fades with the distance in steps, without a model
constexpr double kFailure = 0.6;         // the part of the expected speed at which a failure counts
constexpr double kLeastSpeed = 1e-3;     // a floor, so that every speed has a logarithm

double square(double x) { return x * x; }

/// What a model would have known changes smoothly (Matérn covariance, differentiable once).
double smooth(double squared_steps) {
  const double distance = kLongStep * std::sqrt(squared_steps);
  return (1 + distance) * std::exp(-distance);
}

double covariance_of(const Features& x, const Features& y, bool is_modelled) {
  double common = 0;
  double apart = 0;
  for (std::size_t i = 0; i < x.shares.size(); ++i) {
    common += square(kPart) * x.shares[i] * y.shares[i];
    apart += std::abs(x.shares[i] - y.shares[i]);
  }
  if (x.group != y.group) return common;
  int equal = 0;
  int steps = 0;
  double squared_steps = 0;
  for (std::size_t i = 0; i < x.digits.size(); ++i) {
    const int difference = std::abs(x.digits[i] - y.digits[i]);
    equal += difference == 0 ? 1 : 0;
    steps += difference;
    squared_steps += square(difference);
  }
  const double own = steps == 0 ? square(kOwn) : 0;
  const double alike = equal * square(kOneParameter) + square(kCombination) * std::exp(-kStep * steps) + own;
  const double unmodelled = is_modelled ? 0 : square(kUnmodelled) * smooth(squared_steps);
  return common + square(kGroup) + unmodelled + std::exp(-kMix * apart) * alike;
}

}  // namespace

double Surrogate::covariance(const Point& x, const Point& y) {
  return covariance_of(x.features, y.features, x.has_model || y.has_model);
}

std::size_t Surrogate::add(Features features, double prior_log_time) {
  return add({std::move(features), true, prior_log_time, 1, 0, {}});
}

std::size_t Surrogate::add_without_model(Features features, double lead) {
  return add({std::move(features), false, -lead, 1, 0, {}});
}

std::size_t Surrogate::add(Point candidate) {
  candidate.variance = covariance(candidate, candidate);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    factor(candidate, rows_[i], i);
    candidate.speed += static_cast<double>(candidate.factors[i]) * rows_[i].innovation;
  }
  candidates_.push_back(std::move(candidate));
  return candidates_.size() - 1;
}

void Surrogate::factor(Point& candidate, const Row& row, std::size_t index) const {
  const Point& known = candidates_[row.candidate];
  float explained = 0;
  for (std::size_t i = 0; i < index; ++i) explained += candidate.factors[i] * known.factors[i];
  const double factor = (covariance(candidate, known) - static_cast<double>(explained)) / row.pivot;
  candidate.factors.push_back(static_cast<float>(factor));
  candidate.variance = std::max(0.0, candidate.variance - square(factor));
}

void Surrogate::plan(std::size_t candidate) {
  const Row row{candidate, std::max(kOwn, deviation(candidate))};
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (i != candidate) factor(candidates_[i], row, rows_.size());
  }
  candidates_[candidate].factors.push_back(static_cast<float>(row.pivot));
  candidates_[candidate].variance = 0;
  rows_.push_back(row);
}

Surrogate::Row* Surrogate::find(std::size_t candidate) {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.candidate == candidate; });
  return row == rows_.end() ? nullptr : &*row;
}

void Surrogate::observe(std::size_t candidate, double log_time) {
  Row* row = find(candidate);
  if (row == nullptr) return;
  row->kind = Row::Kind::timed;
  row->log_time = log_time;
}

void Surrogate::observe_failure(std::size_t candidate) {
  Row* row = find(candidate);
  if (row == nullptr) return;
  row->kind = Row::Kind::failed;
  row->speed = kFailure * candidates_[candidate].speed;
}

double Surrogate::reference(const Point& candidate) const {
  return candidate.has_model ? candidate.prior : common_ + candidate.prior;
}

void Surrogate::update() {
  find_common();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    const Point& candidate = candidates_[row.candidate];
    double expected = 1;
    for (std::size_t j = 0; j < i; ++j) expected += static_cast<double>(candidate.factors[j]) * rows_[j].innovation;
    const double speed = row.kind == Row::Kind::timed    ? std::exp(reference(candidate) - row.log_time)
                         : row.kind == Row::Kind::failed ? row.speed
                                                         : expected;
    row.innovation = (speed - expected) / row.pivot;
  }
  for (Point& candidate : candidates_) {
    candidate.speed = 1;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      candidate.speed += static_cast<double>(candidate.factors[i]) * rows_[i].innovation;
    }
  }
}

/// The average is one of speeds.
void Surrogate::find_common() {
  double speeds = 0;
  int count = 0;
  for (const Row& row : rows_) {
    if (row.kind != Row::Kind::timed || candidates_[row.candidate].has_model) continue;
    speeds += std::exp(-row.log_time);
    ++count;
  }
  if (count > 0) common_ = -std::log(speeds / count);
}

double Surrogate::expected(std::size_t candidate) const {
  const Point& known = candidates_[candidate];
  return reference(known) - std::log(std::max(kLeastSpeed, known.speed));
}

double Surrogate::deviation(std::size_t candidate) const { return std::sqrt(candidates_[candidate].variance); }

double Surrogate::improvement(std::size_t candidate, double best_log_time) const {
  // Speeds are multiples of that of the best.
  const double scale = std::exp(best_log_time - reference(candidates_[candidate]));
  const double sigma = scale * deviation(candidate);
  if (sigma == 0) return 0;
  constexpr double kInverseRootTwoPi = 0.3989422804014327;
  const double gain = scale * candidates_[candidate].speed - 1;
  const double z = gain / sigma;
  return gain * 0.5 * std::erfc(-z * std::sqrt(0.5)) + sigma * kInverseRootTwoPi * std::exp(-z * z / 2);
}

}  // namespace mmtune
