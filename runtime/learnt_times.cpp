#include "runtime/learnt_times.h"

#include <algorithm>
#include <array>
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

constexpr std::size_t kShells = 64;    // by squared distance; all that is farther away is in the last one
constexpr double kShellsPerUnit = 16;  // of some hundred sizes those with a say are in the first few

/// In units of kReach.
Octaves place_of(const Problem& problem) {
  const Octaves at = octaves_of(problem);
  return {at[0] / kReach, at[1] / kReach, at[2] / kReach};
}

double squared_distance(const Octaves& x, const Octaves& y) {
  const Octaves apart{x[0] - y[0], x[1] - y[1], x[2] - y[2]};
  return apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2];
}

std::uint8_t shell_of(double squared_distance) {
  return static_cast<std::uint8_t>(static_cast<int>(std::min(kShells - 1.0, squared_distance * kShellsPerUnit)));
}

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
    Size size;
    for (const KernelTime* time : measured) {
      const double error = std::log(time->median_us / time->model_us);
      const double gain = std::max(0.0, kUnknownLoss - std::log(time->median_us / best_us));
      size.results.push_back({time->kernel, error, gain});
      size.common_error += error / static_cast<double>(measured.size());
    }
    places_.push_back(place_of(measured.front()->problem));
    sizes_.push_back(std::move(size));
  }
}

/// As many sizes as have a say, in no order. How many lie in each of a row of shells around the place tells which few
/// are worth comparing.
std::vector<LearntTimes::Near> LearntTimes::nearest(const Octaves& at) const {
  std::vector<std::uint8_t> shells(places_.size());
  std::array<std::uint32_t, kShells> in_shell{};
  for (std::size_t i = 0; i < places_.size(); ++i) {
    shells[i] = shell_of(squared_distance(at, places_[i]));
    ++in_shell[shells[i]];
  }
  std::size_t last = 0;
  std::size_t sizes = in_shell[0];
  while (sizes < kAround && last + 1 < kShells) sizes += in_shell[++last];
  std::vector<Near> near;
  near.reserve(sizes);
  for (std::uint32_t i = 0; i < shells.size(); ++i) {
    if (shells[i] <= last) near.push_back({squared_distance(at, places_[i]), i});
  }
  const std::size_t count = std::min(kAround, near.size());
  std::nth_element(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end(),
                   [](const Near& x, const Near& y) {
                     return std::tuple(x.squared_distance, x.size) < std::tuple(y.squared_distance, y.size);
                   });
  near.resize(count);
  return near;
}

LearntTimes::Around LearntTimes::around(const Problem& problem) const {
  Around around;
  around.sums_.resize(kernels_);
  double weights = 0;
  for (const Near& near : nearest(place_of(problem))) {
    const double weight = 1 / ((kSoftening + near.squared_distance) * (kSoftening + near.squared_distance));
    const Size& size = sizes_[near.size];
    weights += weight;
    around.common_error_ += weight * size.common_error;
    for (const Result& result : size.results) {
      Around::Sum& sum = around.sums_[result.kernel];
      if (sum.weight == 0) around.measured_.push_back(result.kernel);
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
  for (const std::uint32_t kernel : measured_) {
    if (sums_[kernel].gain > 0) kernels.push_back(kernel);
  }
  std::sort(kernels.begin(), kernels.end(), [&](std::uint32_t x, std::uint32_t y) {
    return std::tuple(-sums_[x].gain, x) < std::tuple(-sums_[y].gain, y);
  });
  return kernels;
}

}  // namespace mmtune
