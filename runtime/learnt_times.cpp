#include "runtime/learnt_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace mmtune {

namespace {

// The least loss on 7000 times of fp32 kernels at 170 sizes on an H200, each size left out in turn.
constexpr double kReach = 2;              // octaves: the unit of distances
constexpr double kSoftening = 0.05;       // squared distance within which sizes count as one
constexpr double kCommonWeight = 1;       // of what all kernels have in common
constexpr std::size_t kAround = 24;       // sizes that have a say
constexpr double kCaution = 0.4;          // logarithm of caution() for a kernel that is unknown here
const double kUnknownLoss = std::log(2);  // a kernel that takes so much longer than the fastest is as good as unknown

}  // namespace

LearntTimes::LearntTimes(const std::vector<KernelTime>& times) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<const KernelTime*>> by_size;
  for (const KernelTime& time : times) {
    by_size[{time.problem.m, time.problem.n, time.problem.k}].push_back(&time);
    kernels_ = std::max<std::size_t>(kernels_, time.kernel + std::size_t{1});
  }
  for (const auto& [extents, measured] : by_size) {
    const auto is_faster = [](const KernelTime* x, const KernelTime* y) { return x->median_us < y->median_us; };
    const double best_us = (*std::min_element(measured.begin(), measured.end(), is_faster))->median_us;
    Size size{octaves_of(measured.front()->problem), 0, {}};
    for (const KernelTime* time : measured) {
      const double error = std::log(time->median_us / time->model_us);
      const double gain = std::max(0.0, kUnknownLoss - std::log(time->median_us / best_us));
      size.results.push_back({time->kernel, error, gain});
      size.common_error += error / static_cast<double>(measured.size());
    }
    sizes_.push_back(std::move(size));
  }
}

LearntTimes::Around LearntTimes::around(const Problem& problem) const {
  const Octaves at = octaves_of(problem);
  std::vector<std::pair<double, const Size*>> near;
  near.reserve(sizes_.size());
  for (const Size& size : sizes_) near.emplace_back(squared_distance(at, size.at), &size);
  const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(kAround, near.size()));
  std::nth_element(near.begin(), end, near.end());
  Around around;
  around.sums_.resize(kernels_);
  double weights = 0;
  for (auto each = near.begin(); each != end; ++each) {
    const double weight = 1 / ((kSoftening + each->first) * (kSoftening + each->first));
    weights += weight;
    around.common_error_ += weight * each->second->common_error;
    for (const Result& result : each->second->results) {
      Around::Sum& sum = around.sums_[result.kernel];
      sum.weight += weight;
      sum.error += weight * result.error;
      sum.gain += weight * result.gain;
    }
  }
  if (weights > 0) around.common_error_ /= weights;
  return around;
}

double LearntTimes::Around::factor(std::uint32_t kernel) const {
  const Sum sum = kernel < sums_.size() ? sums_[kernel] : Sum{};
  return std::exp((sum.error + kCommonWeight * common_error_) / (sum.weight + kCommonWeight));
}

double LearntTimes::Around::caution(std::uint32_t kernel) const {
  const Sum sum = kernel < sums_.size() ? sums_[kernel] : Sum{};
  return std::exp(kCaution / (1 + sum.weight));
}

std::vector<std::uint32_t> LearntTimes::Around::promising() const {
  std::vector<std::uint32_t> kernels;
  for (std::uint32_t i = 0; i < sums_.size(); ++i) {
    if (sums_[i].gain > 0) kernels.push_back(i);
  }
  std::sort(kernels.begin(), kernels.end(), [&](std::uint32_t x, std::uint32_t y) {
    return std::tuple(-sums_[x].gain, x) < std::tuple(-sums_[y].gain, y);
  });
  return kernels;
}

double LearntTimes::squared_distance(const Octaves& x, const Octaves& y) {
  double sum = 0;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const double apart = (x[axis] - y[axis]) / kReach;
    sum += apart * apart;
  }
  return sum;
}

}  // namespace mmtune
