#include "runtime/choose/nearest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace mmtune {
namespace {

constexpr Octaves kWeights{1, 1, 0.5};        // K changes how long a tile takes, less which is best.
constexpr double kUnusedWidthDistance = 0.5;  // the distance where half of the possible bytes move at once
constexpr std::uint32_t kLeaf = 8;            // the number of points that are few enough to be looked at one by one

int halvings(int have, int used) {
  return std::max(0, std::countr_zero(static_cast<unsigned>(have)) - std::countr_zero(static_cast<unsigned>(used)));
}

/// Rounds the same way for a point and for the part of a tree that it is in, which is therefore never farther away.
double squared_length(const Octaves& difference) {
  double squares = 0;
  for (std::size_t axis = 0; axis < difference.size(); ++axis) {
    squares += kWeights[axis] * difference[axis] * difference[axis];
  }
  return squares;
}

double length(const Octaves& difference) { return std::sqrt(squared_length(difference)); }

Octaves between(const Octaves& x, const Octaves& y) { return {x[0] - y[0], x[1] - y[1], x[2] - y[2]}; }

int next_axis(int axis) { return axis == 2 ? 0 : axis + 1; }

}  // namespace

Octaves octaves_of(const Problem& problem) {
  const auto octaves = [](std::int64_t extent) { return std::log2(static_cast<double>(extent)); };
  return {octaves(problem.m), octaves(problem.n), octaves(problem.k)};
}

int unused_width(const Alignment& have, const Alignment& used) {
  if (have == used) return 0;
  return halvings(have.a, used.a) + halvings(have.b, used.b) + halvings(have.c, used.c);
}

double distance(const Problem& problem, const Problem& tuned) {
  return length(between(octaves_of(problem), octaves_of(tuned))) +
         kUnusedWidthDistance * unused_width(problem.align, tuned.align);
}

NearestSizes::NearestSizes(const std::vector<Problem>& sizes, const std::vector<std::uint32_t>& numbers) {
  std::vector<std::uint32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto align = [&](std::uint32_t i) { return std::tuple(sizes[i].align.a, sizes[i].align.b, sizes[i].align.c); };
  const auto stands_before = [&](std::uint32_t i, std::uint32_t j) { return align(i) < align(j); };
  if (!std::is_sorted(order.begin(), order.end(), stands_before)) {
    std::stable_sort(order.begin(), order.end(), stands_before);
  }
  points_.reserve(sizes.size());
  for (const std::uint32_t i : order) {
    const auto at = static_cast<std::uint32_t>(points_.size());
    if (trees_.empty() || !(trees_.back().align == sizes[i].align)) trees_.push_back({sizes[i].align, at, at});
    trees_.back().end = at + 1;
    points_.push_back({octaves_of(sizes[i]), numbers[i]});
  }
  for (const Tree& tree : trees_) sort(tree.begin, tree.end, 0);
}

void NearestSizes::sort(std::uint32_t begin, std::uint32_t end, int axis) {
  if (end - begin <= kLeaf) return;
  const std::uint32_t root = begin + (end - begin) / 2;
  const auto at = [axis](const Point& point) { return point.at[static_cast<std::size_t>(axis)]; };
  std::nth_element(points_.begin() + begin, points_.begin() + root, points_.begin() + end,
                   [&](const Point& x, const Point& y) { return at(x) < at(y); });
  sort(begin, root, next_axis(axis));
  sort(root + 1, end, next_axis(axis));
}

/// Parts come before sizes that are as far away, since a size in them may have a smaller number.
bool NearestSizes::Walk::is_later(const Item& x, const Item& y) {
  const auto rank = [](const Item& item) { return std::tuple(item.distance, item.end == 0, item.number); };
  return rank(x) > rank(y);
}

NearestSizes::Walk::Walk(const NearestSizes& sizes, const Problem& problem) : sizes_(sizes), at_(octaves_of(problem)) {
  heap_.reserve(64);
  for (const Tree& tree : sizes.trees_) {
    const double penalty = kUnusedWidthDistance * unused_width(problem.align, tree.align);
    push({penalty, 0, tree.begin, tree.end, 0, penalty, {}});
  }
}

void NearestSizes::Walk::push(const Item& item) {
  heap_.push_back(item);
  std::push_heap(heap_.begin(), heap_.end(), is_later);
}

/// Goes down to the leaf on the problem's side, which is as near as the part; the other sides wait for their turn.
void NearestSizes::Walk::open(Item part) {
  const auto push_point = [&](const Point& point) {
    push({length(between(at_, point.at)) + part.penalty, point.number});
  };
  while (part.end - part.begin > kLeaf) {
    const auto axis = static_cast<std::size_t>(part.axis);
    const std::uint32_t root = part.begin + (part.end - part.begin) / 2;
    const double to_root = at_[axis] - sizes_.points_[root].at[axis];
    push_point(sizes_.points_[root]);
    part.axis = next_axis(part.axis);
    Item less = part;
    Item more = part;
    less.end = root;
    more.begin = root + 1;
    Item& beyond = to_root > 0 ? less : more;
    if (to_root != 0) {
      beyond.outside[axis] = to_root;
      beyond.distance = length(beyond.outside) + part.penalty;
    }
    if (beyond.begin != beyond.end) push(beyond);
    part = to_root > 0 ? more : less;
  }
  for (std::uint32_t i = part.begin; i < part.end; ++i) push_point(sizes_.points_[i]);
}

std::optional<std::uint32_t> NearestSizes::Walk::next() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    const Item item = heap_.back();
    heap_.pop_back();
    if (item.end == 0) return item.number;
    open(item);
  }
  return std::nullopt;
}

/// The nearest size that was found so far.
struct NearestSizes::Search {
  Octaves at;
  double penalty = 0;  ///< the penalty of the tree that is searched
  double distance = std::numeric_limits<double>::infinity();
  std::uint32_t number = 0;
  double squares = std::numeric_limits<double>::infinity();  ///< No size that is farther away in the tree is nearer.

  void begin(const Tree& tree, const Alignment& have) {
    penalty = kUnusedWidthDistance * unused_width(have, tree.align);
    bound();
  }

  void look_at(const Point& point) {
    const double away = squared_length(between(at, point.at));
    if (away > squares) return;
    const double here = std::sqrt(away) + penalty;
    if (std::tuple(here, point.number) >= std::tuple(distance, number)) return;
    distance = here;
    number = point.number;
    bound();
  }

 private:
  /// A little more than the square, which is rounded: of equally near sizes the number counts.
  void bound() {
    constexpr double kMargin = 1 + 1e-12;
    const double left = (distance - penalty) * kMargin;
    squares = left < 0 ? -1 : left * left;
  }
};

std::optional<std::uint32_t> NearestSizes::nearest(const Problem& problem) const {
  if (points_.empty()) return std::nullopt;
  Search found{.at = octaves_of(problem)};
  for (const Tree& tree : trees_) {
    found.begin(tree, problem.align);
    search(tree.begin, tree.end, 0, {}, found);
  }
  return found.number;
}

/// `outside` is from the size to the part, along each axis.
void NearestSizes::search(std::uint32_t begin, std::uint32_t end, int axis, const Octaves& outside,
                          Search& found) const {
  if (end - begin <= kLeaf) {
    for (std::uint32_t i = begin; i < end; ++i) found.look_at(points_[i]);
    return;
  }
  const auto along = static_cast<std::size_t>(axis);
  const std::uint32_t root = begin + (end - begin) / 2;
  const double to_root = found.at[along] - points_[root].at[along];
  const auto search_side = [&](bool is_more, const Octaves& away) {
    if (is_more) {
      search(root + 1, end, next_axis(axis), away, found);
    } else {
      search(begin, root, next_axis(axis), away, found);
    }
  };
  const bool is_more = to_root > 0;
  search_side(is_more, outside);
  found.look_at(points_[root]);
  Octaves beyond = outside;
  beyond[along] = to_root;
  if (squared_length(beyond) <= found.squares) search_side(!is_more, beyond);
}

}  // namespace mmtune
