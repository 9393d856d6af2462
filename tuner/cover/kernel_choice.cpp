#include "tuner/cover/kernel_choice.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "templates/base/parallel.h"

namespace mmtune {
namespace {

constexpr double kCloseToBest = 1.04;  // a kernel this close to the fastest of a size is looked at elsewhere
constexpr std::size_t kMostClose = 4;  // the most such kernels of each size
constexpr double kShortlist = 1.5;   // the most programs that are looked at, as a multiple of those that may be chosen
constexpr double kPromising = 1.25;  // a kernel whose expected time is this close to the best is measured
constexpr std::size_t kMostPromising = 3;  // the most kernels that are measured at a further size

/// Keeps the first kernel of each launch.
void keep_one_of_each_launch(const MeasuredKernels& measured, std::vector<std::size_t>& kernels) {
  std::set<std::size_t> launches;
  std::erase_if(kernels,
                [&](std::size_t kernel) { return !launches.insert(measured.kernels()[kernel].launch).second; });
}

}  // namespace

CandidateLists KernelChoice::for_sample(const MeasuredKernels& measured) const {
  const ExpectedTimes expected(measured);
  const std::vector<std::size_t> kernels = shortlist(measured, expected_times(measured, expected));
  CandidateLists lists(measured.problems().size());
  for (std::size_t size = 0; size < options_.sample.size(); ++size) {
    for (ExpectedTime& each : expected.at(size, kernels)) {
      if (each.time_us > kPromising * measured.best_us(size)) break;
      if (!measured.has_time(size, each.candidate)) lists[size].push_back(std::move(each.candidate));
    }
  }
  return lists;
}

CandidateLists KernelChoice::for_further(const MeasuredKernels& measured, bool only_new) const {
  const ExpectedTimes expected(measured);
  std::vector<std::size_t> kernels = shortlist(measured, measured_times(measured, false));
  if (kernels.size() < most_listed()) {
    kernels = shortlist(measured, cautious_times(measured, expected, kernels), kernels);
  }
  CandidateLists lists(measured.problems().size());
  for_each_on_cores(options_.sample.size(), lists.size(), [&](std::size_t size) {
    if (only_new && !measured.times(size).empty()) return;
    std::vector<ExpectedTime> promising = expected.at(size, kernels);
    promising.resize(std::min(kMostPromising, promising.size()));
    for (const ExpectedTime& each : promising) {
      if (each.time_us > kPromising * promising.front().time_us) break;
      if (!measured.has_time(size, each.candidate)) lists[size].push_back(each.candidate);
    }
  });
  return lists;
}

std::set<std::size_t> KernelChoice::programs(const MeasuredKernels& measured) const {
  return choose_portfolio(measured_times(measured, true), options_.most_kernels, options_.loss).programs;
}

/// The number of programs that may be on a shortlist.
std::size_t KernelChoice::most_listed() const {
  return static_cast<std::size_t>(kShortlist * static_cast<double>(options_.most_kernels));
}

/// The first kernels, and one of each launch of those that serve the sizes best beside them, more than will be chosen.
std::vector<std::size_t> KernelChoice::shortlist(const MeasuredKernels& measured, const TimeMatrix& times,
                                                 const std::vector<std::size_t>& first) const {
  std::vector<std::size_t> kernels = choose_portfolio(times, most_listed(), 0, first).kernels;
  keep_one_of_each_launch(measured, kernels);
  return kernels;
}

/// Times that are expected with caution at the further sizes: of the first kernels, and of one of every other launch.
TimeMatrix KernelChoice::cautious_times(const MeasuredKernels& measured, const ExpectedTimes& expected,
                                        const std::vector<std::size_t>& first) const {
  std::vector<std::size_t> kernels = first;
  kernels.resize(first.size() + measured.kernels().size());
  std::iota(kernels.begin() + static_cast<std::ptrdiff_t>(first.size()), kernels.end(), std::size_t{0});
  keep_one_of_each_launch(measured, kernels);
  TimeMatrix matrix = empty_matrix(measured, true);
  for_each_on_cores(options_.sample.size(), matrix.time_us.size(), [&](std::size_t size) {
    for (const ExpectedTime& each : expected.at(size, kernels)) {
      matrix.time_us[size][each.kernel] = each.cautious_us;
    }
  });
  return matrix;
}

/// Measured times of the kernels that came close to the best somewhere, and expected ones where they were not measured.
TimeMatrix KernelChoice::expected_times(const MeasuredKernels& measured, const ExpectedTimes& expected) const {
  const std::vector<std::size_t> kernels = close_to_best(measured);
  TimeMatrix matrix = empty_matrix(measured);
  for_each_on_cores(0, options_.sample.size(), [&](std::size_t size) {
    for (const ExpectedTime& each : expected.at(size, kernels)) matrix.time_us[size][each.kernel] = each.time_us;
    for (const auto& [kernel, time] : measured.times(size)) {
      if (std::binary_search(kernels.begin(), kernels.end(), kernel)) matrix.time_us[size][kernel] = time.median_us;
    }
  });
  return matrix;
}

/// The kernels that came close to the best at some size of the sample, ascending.
std::vector<std::size_t> KernelChoice::close_to_best(const MeasuredKernels& measured) const {
  std::set<std::size_t> kernels;
  for (std::size_t size = 0; size < options_.sample.size(); ++size) {
    std::vector<std::pair<double, std::size_t>> close;
    for (const auto& [kernel, time] : measured.times(size)) {
      if (time.is_ok && time.median_us <= kCloseToBest * measured.best_us(size)) {
        close.emplace_back(time.median_us, kernel);
      }
    }
    std::sort(close.begin(), close.end());
    close.resize(std::min(kMostClose, close.size()));
    for (const auto& [time_us, kernel] : close) kernels.insert(kernel);
  }
  return {kernels.begin(), kernels.end()};
}

/// A matrix without times, of the sample's sizes or of all.
TimeMatrix KernelChoice::empty_matrix(const MeasuredKernels& measured, bool with_further) const {
  const std::size_t kernels = measured.kernels().size();
  TimeMatrix matrix{kernels, {}, {}, measured.programs()};
  for (const AskedProblem& size : options_.sample) matrix.weights.push_back(size.weight);
  if (with_further) {
    for (const AskedProblem& size : options_.further) matrix.weights.push_back(size.weight);
  }
  constexpr double kNoTime = std::numeric_limits<double>::infinity();
  matrix.time_us.assign(matrix.weights.size(), std::vector<double>(kernels, kNoTime));
  return matrix;
}

TimeMatrix KernelChoice::measured_times(const MeasuredKernels& measured, bool with_further) const {
  TimeMatrix matrix = empty_matrix(measured, with_further);
  for (std::size_t size = 0; size < matrix.time_us.size(); ++size) {
    for (const auto& [kernel, time] : measured.times(size)) {
      if (time.is_ok) matrix.time_us[size][kernel] = time.median_us;
    }
  }
  return matrix;
}

}  // namespace mmtune
