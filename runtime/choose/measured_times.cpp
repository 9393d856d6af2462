#include "runtime/choose/measured_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/choose/nearest.h"
#include "templates/problem/dtype.h"
#include "templates/problem/tiling.h"

namespace mmtune {
namespace {

// The least loss on 7000 times of fp32 kernels at 170 sizes on an H200, each size left out in turn; the alignment's
// distance and caution on times of bf16 on an H100 (docs/lab/2026-11-26-cover.md).
constexpr double kDistanceUnit = 2;     // the unit of distances, in octaves
constexpr double kSoftening = 0.05;     // the squared distance within which sizes count as one
constexpr double kOperandDistance = 2;  // the distance for each operand that is aligned otherwise
// The distances for each octave of the alignment of rows that tensor cores read, and write, to lines of memory: the
// least loss at the sizes of covers in bf16 (docs/lab/2026-11-24-model.md#fitted-anew-to-covers), among those by which
// sizes whose rows begin otherwise count for little.
constexpr double kReadDistance = 0.32;
constexpr double kWrittenDistance = 0.1;
constexpr int kAround = 24;               // the number of sizes that have a say
const double kUnknownLoss = std::log(2);  // a kernel that takes so much longer than the fastest is as good as unknown

constexpr std::size_t kGroups = 64;  // the number of groups of sizes: enough for some more than have a say
constexpr std::size_t kDepth = 8;    // the most blocks that a group has a size of
constexpr float kRounding = 1e-3F;   // Squared distances of rounded places are off by less, as a part of them plus 1.

/// The distances from some places. One step is taken for all of them after another, so that vector units do it.
template <class Floats, std::size_t kAxes>
Floats squared_distances(const std::array<Floats, kAxes>& places, const std::array<float, kAxes>& at) {
  Floats squares{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    for (std::size_t i = 0; i < squares.size(); ++i) {
      const float along = places[axis][i] - at[axis];
      squares[i] += along * along;
    }
  }
  return squares;
}

/// A squared distance within which `least` to `most` of those given lie; more only where many are equal. By halving,
/// since no branch depends on one of them then: a processor would guess half of those wrong.
template <class Real>
Real reach_of(const std::vector<Real>& squares, int least, int most) {
  constexpr int kSteps = 24;
  Real too_near = 0;
  Real enough = std::numeric_limits<Real>::infinity();
  if (squares.size() <= static_cast<std::size_t>(most)) return enough;
  Real reach = 0.25;
  for (int step = 0; step < kSteps; ++step) {
    int within = 0;
    for (const Real square : squares) within += square <= reach ? 1 : 0;
    if (within >= least && within <= most) return reach;
    (within < least ? too_near : enough) = reach;
    reach = std::isinf(enough) ? 4 * too_near : too_near == 0 ? enough / 4 : std::sqrt(too_near * enough);
  }
  return enough;
}

/// The number of operands that cannot be read by 16 bytes at once.
int unaligned_operands(const Problem& problem) {
  const auto [a, b, c] = problem.align;
  const auto unaligned = [](int align) { return align < kAlignments.back() ? 1 : 0; };
  return unaligned(a) + unaligned(b) + unaligned(c);
}

/// The octaves of the bytes to which all rows are aligned, from 16 bytes to a line.
double row_octaves(const StoredShape& shape, int element_bytes) {
  const auto aligned = std::max<std::int64_t>(row_alignment(shape, element_bytes), kAlignments.back());
  return std::log2(static_cast<double>(aligned));
}

}  // namespace

/// How what kernels took around a size is weighed. On tensor cores the corrected model errs less from kernel to kernel,
/// and less evenly from size to size (docs/lab/2026-11-28-untuned.md#five-minutes).
struct MeasuredTimes::Weighting {
  int power;             ///< a size's weight is one over this power of its squared distance
  double common_weight;  ///< the weight of what all kernels have in common
  double usual_error;    ///< a kernel that differs from them by this logarithm has half as much in common with them
  double caution;        ///< the logarithm of caution() for a kernel that is unknown here

  static const Weighting& of(const Problem& problem) {
    static constexpr Weighting kOfCudaCores{2, 4, std::numeric_limits<double>::infinity(), 0.05};
    static constexpr Weighting kOfTensorCores{1, 16, 0.2, 0.03};
    return is_of_tensor_cores(traits(problem.precision)) ? kOfTensorCores : kOfCudaCores;
  }
};

/// The place in units of kDistanceUnit. CUDA cores err no otherwise where rows begin between lines.
MeasuredTimes::Place MeasuredTimes::place_of(const Problem& problem) {
  const Octaves at = octaves_of(problem);
  Place place{at[0] / kDistanceUnit, at[1] / kDistanceUnit, at[2] / kDistanceUnit,
              kOperandDistance * unaligned_operands(problem)};
  const PrecisionTraits& types = traits(problem.precision);
  if (!is_of_tensor_cores(types)) return place;
  place[4] = kReadDistance * row_octaves(stored_a(problem), types.a.bytes);
  place[5] = kReadDistance * row_octaves(stored_b(problem), types.b.bytes);
  place[6] = kWrittenDistance * row_octaves({problem.m, problem.n}, types.c.bytes);
  return place;
}

double MeasuredTimes::squared_distance(const Place& x, const Place& y) {
  double square = 0;
  for (std::size_t axis = 0; axis < kAxes; ++axis) square += (x[axis] - y[axis]) * (x[axis] - y[axis]);
  return square;
}

MeasuredTimes::MeasuredTimes(const std::vector<KernelTime>& times) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, int>, std::vector<const KernelTime*>> by_size;
  for (const KernelTime& time : times) {
    const Problem& problem = time.problem;
    by_size[{problem.m, problem.n, problem.k, unaligned_operands(problem)}].push_back(&time);
    kernels_ = std::max<std::size_t>(kernels_, time.kernel + std::size_t{1});
  }
  for (const auto& [where, measured] : by_size) {
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
  // What is left over in the last block is as far away as can be.
  Block nothing;
  for (auto& axis : nothing.at) axis.fill(std::numeric_limits<float>::max());
  blocks_.assign((places_.size() + kBlock - 1) / kBlock, nothing);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      blocks_[i / kBlock].at[axis][i % kBlock] = static_cast<float>(places_[i][axis]);
    }
  }
}

/// The sizes that have a say, in no order. Sizes are in groups, and where as many groups as that have one within a
/// distance, no other size is worth comparing.
std::vector<MeasuredTimes::Near> MeasuredTimes::nearest(const Place& at) const {
  std::array<float, kAxes> here{};
  std::transform(at.begin(), at.end(), here.begin(), [](double axis) { return static_cast<float>(axis); });
  const std::size_t depth = std::clamp<std::size_t>(blocks_.size() * kBlock / kGroups, 1, kDepth);
  std::vector<Floats> squares(blocks_.size());
  std::vector<float> least;  // the least distance of each group
  least.reserve(blocks_.size() * kBlock);
  for (std::size_t first = 0; first < blocks_.size(); first += depth) {
    Floats of_groups;
    of_groups.fill(std::numeric_limits<float>::infinity());
    for (std::size_t block = first; block < std::min(first + depth, blocks_.size()); ++block) {
      squares[block] = squared_distances(blocks_[block].at, here);
      for (std::size_t i = 0; i < kBlock; ++i) of_groups[i] = std::min(of_groups[i], squares[block][i]);
    }
    least.insert(least.end(), of_groups.begin(), of_groups.end());
  }
  float farthest = reach_of(least, kAround, kAround + kAround / 8);
  farthest += kRounding * (1 + farthest);
  std::vector<std::uint32_t> found(kBlock * blocks_.size());  // They are written without a branch.
  std::size_t last_found = 0;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      found[last_found] = static_cast<std::uint32_t>(block * kBlock + i);
      last_found += squares[block][i] <= farthest ? 1 : 0;
    }
  }
  std::vector<Near> near;
  std::vector<double> exactly;
  near.reserve(last_found);
  exactly.reserve(last_found);
  for (std::size_t i = 0; i < last_found && found[i] < places_.size(); ++i) {
    exactly.push_back(squared_distance(at, places_[found[i]]));
    near.push_back({exactly.back(), found[i]});
  }
  if (near.size() <= kAround) return near;
  const double reach = reach_of(exactly, kAround, kAround);
  std::erase_if(near, [&](const Near& each) { return each.squared_distance > reach; });
  if (near.size() > kAround) {  // The first of equally near ones stay.
    std::nth_element(near.begin(), near.begin() + kAround, near.end(), [](const Near& x, const Near& y) {
      return std::tuple(x.squared_distance, x.size) < std::tuple(y.squared_distance, y.size);
    });
    near.resize(kAround);
  }
  return near;
}

MeasuredTimes::Around MeasuredTimes::around(const Problem& problem) const {
  Around around;
  around.places_.resize(kernels_);
  around.sums_.reserve(std::size_t{2} * kAround);
  double weights = 0;
  around.weighting_ = &Weighting::of(problem);
  for (const Near& near : nearest(place_of(problem))) {
    const double nearness = 1 / (kSoftening + near.squared_distance);
    const double weight = around.weighting_->power == 1 ? nearness : nearness * nearness;
    const Size& size = sizes_[near.size];
    weights += weight;
    around.common_error_ += weight * size.common_error;
    for (const Result& result : size.results) {
      std::uint32_t& place = around.places_[result.kernel];
      if (place == 0) {
        around.sums_.push_back({result.kernel});
        place = static_cast<std::uint32_t>(around.sums_.size());
      }
      Around::Sum& sum = around.sums_[place - 1];
      sum.weight += weight;
      sum.error += weight * result.error;
      sum.gain += weight * result.gain;
    }
  }
  if (weights > 0) around.common_error_ /= weights;
  return around;
}

MeasuredTimes::Around::Sum MeasuredTimes::Around::sum_of(std::uint32_t kernel) const {
  const std::uint32_t place = kernel < places_.size() ? places_[kernel] : 0;
  return place == 0 ? Sum{} : sums_[place - 1];
}

double MeasuredTimes::Around::factor(std::uint32_t kernel) const {
  const Sum sum = sum_of(kernel);
  if (sum.weight == 0) return std::exp(common_error_);
  const double difference = (sum.error / sum.weight - common_error_) / weighting_->usual_error;
  const double common_weight = weighting_->common_weight / (1 + difference * difference);
  return std::exp((sum.error + common_weight * common_error_) / (sum.weight + common_weight));
}

double MeasuredTimes::Around::caution(std::uint32_t kernel) const {
  return std::exp(weighting_->caution / (1 + sum_of(kernel).weight));
}

/// The kernels that gain the most; of equal ones the first.
std::vector<std::uint32_t> MeasuredTimes::Around::best_of(std::vector<Promise>& promises, std::size_t most) {
  if (promises.size() > most) {
    std::vector<double> per_gain;
    per_gain.reserve(promises.size());
    for (const Promise& each : promises) per_gain.push_back(1 / each.gain);
    const double reach = reach_of(per_gain, static_cast<int>(most), static_cast<int>(most));
    std::erase_if(promises, [&](const Promise& each) { return 1 / each.gain > reach; });
  }
  if (promises.size() > most) {
    const auto last = promises.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(promises.begin(), last, promises.end(), [](const Promise& x, const Promise& y) {
      return std::tuple(-x.gain, x.kernel) < std::tuple(-y.gain, y.kernel);
    });
    promises.resize(most);
  }
  std::vector<std::uint32_t> kernels;
  kernels.reserve(promises.size());
  for (const Promise& each : promises) kernels.push_back(each.kernel);
  return kernels;
}

}  // namespace mmtune
