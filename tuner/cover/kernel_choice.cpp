#include "tuner/cover/kernel_choice.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
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
constexpr std::size_t kForSpare = 4;  // A part in so many of the programs is for sizes between those that are measured.
constexpr double kUseful = 1.05;  // a kernel at its spare size this close to what is expected of the others is chosen
constexpr double kNoTime = std::numeric_limits<double>::infinity();

/// Keeps the first kernel of each launch.
void keep_one_of_each_launch(const MeasuredKernels& measured, std::vector<std::size_t>& kernels) {
  std::set<std::size_t> launches;
  std::erase_if(kernels,
                [&](std::size_t kernel) { return !launches.insert(measured.kernels()[kernel].launch).second; });
}

/// These kernels, then the others, one of each launch.
std::vector<std::size_t> of_all_launches(const MeasuredKernels& measured, std::vector<std::size_t> kernels = {}) {
  const std::size_t first = kernels.size();
  kernels.resize(first + measured.kernels().size());
  std::iota(kernels.begin() + static_cast<std::ptrdiff_t>(first), kernels.end(), std::size_t{0});
  keep_one_of_each_launch(measured, kernels);
  return kernels;
}

/// A matrix without times, of these sizes.
TimeMatrix empty_matrix(const MeasuredKernels& measured,
                        std::initializer_list<const std::vector<AskedProblem>*> sizes) {
  TimeMatrix matrix{measured.kernels().size(), {}, {}, measured.programs()};
  for (const auto* list : sizes) {
    for (const AskedProblem& size : *list) matrix.weights.push_back(size.weight);
  }
  matrix.time_us.assign(matrix.weights.size(), std::vector<double>(matrix.kernels, kNoTime));
  return matrix;
}

/// The launches of these programs that decide one of the first sizes.
std::vector<std::size_t> deciding(const MeasuredKernels& measured, const std::set<std::size_t>& programs,
                                  std::size_t sizes) {
  std::set<std::size_t> launches;
  for (std::size_t size = 0; size < sizes; ++size) {
    if (const auto kernel = measured.fastest(size, programs)) launches.insert(measured.kernels()[*kernel].launch);
  }
  return {launches.begin(), launches.end()};
}

struct Use {
  double gain = 0;  ///< the time of the fastest of the others over the kernel's
  std::size_t size = 0;
};

/// Where each kernel of a portfolio but the first ones is of most use beside these, of sizes where it is the fastest.
std::map<std::size_t, Use> uses_of(const TimeMatrix& times, const std::vector<std::size_t>& portfolio,
                                   std::size_t first) {
  std::map<std::size_t, Use> uses;
  const auto others = portfolio.begin() + static_cast<std::ptrdiff_t>(first);
  for (std::size_t size = 0; size < times.time_us.size() && others != portfolio.end(); ++size) {
    const std::vector<double>& row = times.time_us[size];
    const auto is_faster = [&](std::size_t x, std::size_t y) { return row[x] < row[y]; };
    const std::size_t best = *std::min_element(others, portfolio.end(), is_faster);
    double first_us = kNoTime;
    for (auto each = portfolio.begin(); each != others; ++each) first_us = std::min(first_us, row[*each]);
    if (!(row[best] < first_us)) continue;
    Use& use = uses[best];
    if (first_us / row[best] > use.gain) use = {first_us / row[best], size};
  }
  return uses;
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
    const TimeMatrix times = cautious_times(measured, expected, of_all_launches(measured, kernels),
                                            options_.sample.size(), options_.further);
    kernels = shortlist(measured, times, kernels);
  }
  CandidateLists lists(measured.problems().size());
  for_each_on_cores(options_.sample.size(), first_spare(), [&](std::size_t size) {
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
  return choose_portfolio(measured_times(measured, true), most_measured(), options_.loss).programs;
}

/// Whether more programs may be chosen than the sample and the further sizes need.
bool KernelChoice::has_room(const std::set<std::size_t>& programs) const {
  return options_.loss == 0 && programs.size() < options_.most_kernels;
}

std::vector<SpareKernel> KernelChoice::for_spare(const MeasuredKernels& measured, bool only_new) const {
  std::set<std::size_t> programs = this->programs(measured);
  const UsefulPrograms known = add_useful(measured, programs);
  if (!has_room(programs) || (only_new && known.measured > 0)) return {};
  const std::vector<std::size_t> first = deciding(measured, programs, measured.problems().size());
  const ExpectedTimes expected(measured);
  const TimeMatrix times = cautious_times(measured, expected, of_all_launches(measured), first_spare(), options_.spare);
  const Portfolio portfolio = choose_portfolio(times, options_.most_kernels, 0, first);
  const std::map<std::size_t, Use> uses = uses_of(times, portfolio.kernels, first.size());
  std::vector<SpareKernel> spare;
  for (const std::size_t kernel : portfolio.kernels) {
    const auto use = uses.find(kernel);
    if (use == uses.end()) continue;
    const std::size_t size = first_spare() + use->second.size;
    spare.push_back({size, std::move(expected.at(size, {kernel}).front().candidate)});
  }
  return spare;
}

UsefulPrograms KernelChoice::add_useful(const MeasuredKernels& measured, std::set<std::size_t>& programs) const {
  UsefulPrograms found;
  for (std::size_t size = first_spare(); size < measured.problems().size(); ++size) {
    found.measured += measured.times(size).size();
  }
  if (found.measured == 0) return found;  // Times need not be expected then, which takes long.
  const ExpectedTimes expected(measured, first_spare());
  const std::vector<std::size_t> chosen = deciding(measured, programs, first_spare());
  const std::vector<std::size_t> program_of = measured.programs();
  const std::set<std::size_t> all(program_of.begin(), program_of.end());
  std::vector<std::pair<double, std::size_t>> useful;  // times over what is expected of the chosen, and programs
  for (std::size_t size = first_spare(); size < measured.problems().size(); ++size) {
    const auto fastest = measured.fastest(size, all);  // No other one decides the size.
    if (!fastest) continue;
    const std::vector<ExpectedTime> others = expected.at(size, chosen);
    const double share = others.empty() ? 0 : measured.times(size).at(*fastest).us / others.front().time_us;
    if (share <= kUseful) useful.emplace_back(share, program_of[*fastest]);
  }
  std::sort(useful.begin(), useful.end());
  for (const auto& [share, program] : useful) {
    if (has_room(programs)) found.chosen += programs.insert(program).second ? 1 : 0;
  }
  return found;
}

/// The number of programs that the sample and the further sizes may choose.
std::size_t KernelChoice::most_measured() const {
  return options_.loss > 0 ? options_.most_kernels : options_.most_kernels - options_.most_kernels / kForSpare;
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

/// Times that are expected of kernels with caution at these sizes, of which the first has this number.
TimeMatrix KernelChoice::cautious_times(const MeasuredKernels& measured, const ExpectedTimes& expected,
                                        const std::vector<std::size_t>& kernels, std::size_t first,
                                        const std::vector<AskedProblem>& sizes) const {
  TimeMatrix matrix = empty_matrix(measured, {&sizes});
  for_each_on_cores(0, sizes.size(), [&](std::size_t size) {
    for (const ExpectedTime& each : expected.at(first + size, kernels)) {
      matrix.time_us[size][each.kernel] = each.cautious_us;
    }
  });
  return matrix;
}

/// Measured times of the kernels that came close to the best somewhere, and expected ones where they were not measured.
TimeMatrix KernelChoice::expected_times(const MeasuredKernels& measured, const ExpectedTimes& expected) const {
  const std::vector<std::size_t> kernels = close_to_best(measured);
  TimeMatrix matrix = empty_matrix(measured, {&options_.sample});
  for_each_on_cores(0, options_.sample.size(), [&](std::size_t size) {
    for (const ExpectedTime& each : expected.at(size, kernels)) matrix.time_us[size][each.kernel] = each.time_us;
    for (const auto& [kernel, time] : measured.times(size)) {
      if (std::binary_search(kernels.begin(), kernels.end(), kernel)) matrix.time_us[size][kernel] = time.us;
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
      if (time.is_ok && time.us <= kCloseToBest * measured.best_us(size)) {
        close.emplace_back(time.us, kernel);
      }
    }
    std::sort(close.begin(), close.end());
    close.resize(std::min(kMostClose, close.size()));
    for (const auto& [time_us, kernel] : close) kernels.insert(kernel);
  }
  return {kernels.begin(), kernels.end()};
}

TimeMatrix KernelChoice::measured_times(const MeasuredKernels& measured, bool with_further) const {
  TimeMatrix matrix = with_further ? empty_matrix(measured, {&options_.sample, &options_.further})
                                   : empty_matrix(measured, {&options_.sample});
  for (std::size_t size = 0; size < matrix.time_us.size(); ++size) {
    for (const auto& [kernel, time] : measured.times(size)) {
      if (time.is_ok) matrix.time_us[size][kernel] = time.us;
    }
  }
  return matrix;
}

}  // namespace mmtune
