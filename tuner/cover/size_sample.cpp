#include "tuner/cover/size_sample.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "templates/base/parsed_number.h"
#include "templates/base/round_up.h"
#include "tuner/text/text.h"

namespace mmtune {

namespace {

constexpr std::int64_t kMultiple = 8;
constexpr int kTriesPerSize = 8;  // the tries for each size: a range of few sizes may have no new one

std::int64_t extent_of(std::string_view text, std::string_view all) {
  const auto number = parsed_number<std::int64_t>(text);
  if (!number || *number < 1 || *number > kMaxExtent) {
    throw UsageError(fmt::format("'{}' in '{}': a number from 1 to {} is needed", text, all, kMaxExtent));
  }
  return *number;
}

/// A range, or one of several that is a number.
SizeDistribution::Range range_of(std::string_view text, std::string_view all) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) {
    if (text == all) {
      throw UsageError(fmt::format("--sizes '{}': no range; write 48..8192, 48..8192x16..64x4096 or @file", all));
    }
    const std::int64_t extent = extent_of(text, all);
    return {extent, extent};
  }
  const SizeDistribution::Range range{extent_of(text.substr(0, dots), all), extent_of(text.substr(dots + 2), all)};
  if (range.least > range.most) {
    throw UsageError(
        fmt::format("--sizes '{}': '{}' runs backwards; write {}..{}", all, text, range.most, range.least));
  }
  return range;
}

/// The extent at this share of the octaves of a range.
std::int64_t extent_at(const SizeDistribution::Range& range, double share, bool multiple) {
  const auto least = static_cast<double>(range.least);
  const double extent = least * std::pow(static_cast<double>(range.most) / least, share);
  const auto whole = std::clamp<std::int64_t>(std::llround(extent), range.least, range.most);
  const std::int64_t first = round_up(range.least, kMultiple);
  const std::int64_t last = range.most / kMultiple * kMultiple;
  if (!multiple || first > last) return whole;
  return std::clamp((whole + kMultiple / 2) / kMultiple * kMultiple, first, last);
}

/// Draws product after product from `next`, none twice.
template <class Next>
std::vector<WeightedSize> distinct(std::size_t count, Next next) {
  std::vector<WeightedSize> calls;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::optional<Precision>, std::optional<Layout>>> known;
  for (std::size_t i = 0; calls.size() < count && i < kTriesPerSize * count; ++i) {
    const WeightedSize call = next(i);
    const bool is_new = known.emplace(call.size.m, call.size.n, call.size.k, call.precision, call.layout).second;
    if (is_new) calls.push_back(call);
  }
  return calls;
}

/// Uniform in [0, 1), the same with every standard library.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace

SizeDistribution SizeDistribution::parse(std::string_view text) {
  SizeDistribution distribution;
  if (!text.starts_with('@')) {
    const auto parts = split(text, 'x');
    if (parts.size() != 1 && parts.size() != 3) {
      throw UsageError(
          fmt::format("--sizes '{}': {} ranges; write one for all extents, as 48..8192, or three for m, n and k", text,
                      parts.size()));
    }
    for (std::size_t i = 0; i < 3; ++i) distribution.ranges_[i] = range_of(parts[parts.size() == 1 ? 0 : i], text);
    return distribution;
  }
  distribution.list_ = read_calls(std::string(text.substr(1)));
  return distribution;
}

// The points between limits are the additive recurrence whose steps are powers of the root of x^5 = x + 1, shifted by
// the seed; its points lie evenly in four dimensions however many there are (M. Roberts, The unreasonable effectiveness
// of quasirandom sequences, 2018). The third decides between multiples of 8 and others, so that both lie evenly however
// few there are, which every second or third point does not. Points are stretched beyond the limits, so that one of
// four lies on a face: what is learnt between sizes holds better than what is learnt of one side.
std::vector<WeightedSize> SizeDistribution::spread(std::size_t count, std::uint64_t seed) const {
  if (!list_.empty())
    return {list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(std::min(count, list_.size()))};
  constexpr double kStretch = 1.1;
  constexpr double kRoot = 1.1673039782614187;
  std::mt19937_64 random(seed);
  const std::array<double, 4> shift{uniform(random), uniform(random), uniform(random), uniform(random)};
  return distinct(count, [&](std::size_t i) {
    std::array<double, 4> point{};
    for (std::size_t axis = 0; axis < point.size(); ++axis) {
      const double steps = static_cast<double>(i) / std::pow(kRoot, axis + 1.0);
      point[axis] = shift[axis] + steps - std::floor(shift[axis] + steps);
    }
    const auto stretched = [](double inside) { return std::clamp(0.5 + kStretch * (inside - 0.5), 0.0, 1.0); };
    const std::array<double, 3> place{stretched(point[0]), stretched(point[1]), stretched(point[3])};
    return WeightedSize{at(place, point[2] < 0.5)};  // The others have several alignments.
  });
}

std::vector<WeightedSize> SizeDistribution::draw(std::size_t count, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  const double total = std::accumulate(list_.begin(), list_.end(), 0.0,
                                       [](double sum, const WeightedSize& each) { return sum + each.weight; });
  return distinct(count, [&](std::size_t i) {
    if (list_.empty()) {
      const double m = uniform(random), n = uniform(random), k = uniform(random);
      return WeightedSize{at({m, n, k}, i % 2 == 0)};
    }
    double left = uniform(random) * total;
    const auto chosen = std::find_if(list_.begin(), list_.end() - 1,
                                     [&](const WeightedSize& each) { return (left -= each.weight) < 0; });
    return WeightedSize{chosen->size, chosen->precision, chosen->layout};
  });
}

Size SizeDistribution::at(const std::array<double, 3>& place, bool multiples) const {
  return {extent_at(ranges_[0], place[0], multiples), extent_at(ranges_[1], place[1], multiples),
          extent_at(ranges_[2], place[2], multiples)};
}

std::vector<AskedProblem> asked_problems(const std::vector<WeightedSize>& calls,
                                         const std::vector<Precision>& precisions, const std::vector<Layout>& layouts) {
  std::vector<AskedProblem> asked;
  for (const Precision precision : precisions) {
    for (const Layout layout : layouts) {
      for (const WeightedSize& call : calls) {
        const bool is_again =
            (call.precision && precision != precisions.front()) || (call.layout && layout != layouts.front());
        if (is_again) continue;
        const auto& [m, n, k] = call.size;
        const Precision own = call.precision.value_or(precision);
        asked.push_back({packed_problem(own, call.layout.value_or(layout), m, n, k), call.weight});
      }
    }
  }
  return asked;
}

std::vector<Problem> problems_of(const std::vector<AskedProblem>& asked) {
  std::vector<Problem> problems;
  for (const AskedProblem& each : asked) problems.push_back(each.problem);
  return problems;
}

}  // namespace mmtune
