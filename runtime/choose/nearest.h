// The search for tuned sizes that are near another one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "templates/problem/problem.h"

namespace mmtune {

/// Octaves of m, n and k, which must be over 0.
using Octaves = std::array<double, 3>;
Octaves octaves_of(const Problem& problem);

/// How often the vectors of a kernel for `used` could be doubled with operands aligned to `have`.
int unused_width(const Alignment& have, const Alignment& used);

/// Sizes of equal ratios are equally far apart; a kernel that moves fewer bytes at once than the operands allow is
/// farther away.
double distance(const Problem& problem, const Problem& tuned);

/// Tuned sizes of one precision and layout, in trees by alignment (Bentley, Multidimensional binary search trees,
/// 1975), so that looking for those near a size does not look at all.
class NearestSizes {
 public:
  NearestSizes() = default;

  /// `numbers` are what the walks below return.
  NearestSizes(const std::vector<Problem>& sizes, const std::vector<std::uint32_t>& numbers);

  /// All sizes, the nearest to `problem` first; of equally near ones the one with the smallest number.
  class Walk {
   public:
    Walk(const NearestSizes& sizes, const Problem& problem);

    /// Nothing at the end.
    std::optional<std::uint32_t> next();

   private:
    /// A size, or a part of a tree, none of which is nearer.
    struct Item {
      double distance = 0;
      std::uint32_t number = 0;  ///< the number of a size
      std::uint32_t begin = 0;   ///< where the points of a part begin
      std::uint32_t end = 0;     ///< 0: a size
      int axis = 0;
      double penalty = 0;
      Octaves outside{};  ///< the distance from the problem to the part, along each axis
    };
    static bool is_later(const Item& x, const Item& y);
    void push(const Item& item);
    void open(Item part);

    const NearestSizes& sizes_;
    Octaves at_;
    std::vector<Item> heap_;
  };

  Walk from(const Problem& problem) const { return {*this, problem}; }

  /// The first that a walk returns, in a fraction of its time.
  std::optional<std::uint32_t> nearest(const Problem& problem) const;

  bool empty() const { return points_.empty(); }

 private:
  struct Point {
    Octaves at;
    std::uint32_t number = 0;
  };
  struct Tree {
    Alignment align;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  struct Search;
  void sort(std::uint32_t begin, std::uint32_t end, int axis);
  void search(std::uint32_t begin, std::uint32_t end, int axis, const Octaves& outside, Search& found) const;

  std::vector<Point> points_;  ///< the points of each tree in order: what is less along an axis, the root, what is more
  std::vector<Tree> trees_;
};

}  // namespace mmtune
