#include "tuner/search/surrogate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace mmtune {
namespace {

// Standard deviations of what the model misses, as logarithms of time: most likely for 1800 times of an H200.
constexpr double kGroup = 0.2;           // by all of a group; not among the 1800, which are of one
constexpr double kPart = 0.03;           // in the time that goes to one thing
constexpr double kOneParameter = 0.005;  // by all with a parameter's value
constexpr double kCombination = 0.059;   // by candidates that differ little
constexpr double kOwn = 0.009;           // by one candidate: what the compiler makes of it
constexpr double kStep = 0.04;           // how fast likeness fades with each step in a parameter's table,
constexpr double kMix = 0.8;             // and with the share of the time that goes to other things

double square(double x) { return x * x; }

double covariance(const Features& x, const Features& y) {
  double common = 0;
  double apart = 0;
  for (std::size_t i = 0; i < x.shares.size(); ++i) {
    common += square(kPart) * x.shares[i] * y.shares[i];
    apart += std::abs(x.shares[i] - y.shares[i]);
  }
  if (x.group != y.group) return common;
  int equal = 0;
  int steps = 0;
  for (std::size_t i = 0; i < x.digits.size(); ++i) {
    const int difference = std::abs(x.digits[i] - y.digits[i]);
    equal += difference == 0 ? 1 : 0;
    steps += difference;
  }
  const double own = steps == 0 ? square(kOwn) : 0;
  const double alike = equal * square(kOneParameter) + square(kCombination) * std::exp(-kStep * steps) + own;
  return common + square(kGroup) + std::exp(-kMix * apart) * alike;
}

}  // namespace

std::size_t Surrogate::add(Features features, double prior_log_time) {
  const double variance = covariance(features, features);
  Candidate candidate{std::move(features), prior_log_time, prior_log_time, variance, {}};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    factor(candidate, rows_[i], i);
    candidate.expected += static_cast<double>(candidate.factors[i]) * rows_[i].innovation;
  }
  candidates_.push_back(std::move(candidate));
  return candidates_.size() - 1;
}

void Surrogate::factor(Candidate& candidate, const Row& row, std::size_t index) const {
  const Candidate& known = candidates_[row.candidate];
  float explained = 0;
  for (std::size_t i = 0; i < index; ++i) explained += candidate.factors[i] * known.factors[i];
  const double factor = (covariance(candidate.features, known.features) - static_cast<double>(explained)) / row.pivot;
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

void Surrogate::observe(std::size_t candidate, double log_time) {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return r.candidate == candidate; });
  if (row == rows_.end()) return;
  row->observed = true;
  row->log_time = log_time;
}

void Surrogate::update() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Candidate& candidate = candidates_[rows_[i].candidate];
    double expected = candidate.prior;
    for (std::size_t j = 0; j < i; ++j) expected += static_cast<double>(candidate.factors[j]) * rows_[j].innovation;
    rows_[i].innovation = rows_[i].observed ? (rows_[i].log_time - expected) / rows_[i].pivot : 0;
  }
  for (Candidate& candidate : candidates_) {
    candidate.expected = candidate.prior;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      candidate.expected += static_cast<double>(candidate.factors[i]) * rows_[i].innovation;
    }
  }
}

double Surrogate::deviation(std::size_t candidate) const { return std::sqrt(candidates_[candidate].variance); }

double Surrogate::improvement(std::size_t candidate, double best_log_time) const {
  const double sigma = deviation(candidate);
  if (sigma == 0) return 0;
  constexpr double kInverseRootTwoPi = 0.3989422804014327;
  const double gain = best_log_time - expected(candidate);
  const double z = gain / sigma;
  return gain * 0.5 * std::erfc(-z * std::sqrt(0.5)) + sigma * kInverseRootTwoPi * std::exp(-z * z / 2);
}

}  // namespace mmtune
