// Which configurations run on the host, and what they run: chosen cases, and drawn ones for the values of parameters
// that no chosen one shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/shim/product.h"
#include "tests/tuner/samples.h"

namespace mmtune::shim {

inline constexpr test::Scalars kBoth{.alpha = 0.75, .beta = -0.5};
inline constexpr test::Scalars kWhole{.alpha = 2, .beta = -3};

/// What every configuration runs: operands aligned to their elements, and to 16 bytes.
inline constexpr Scene kCore[] = {
    {"one element", 1, 1, 1},
    {"odd", 33, 65, 17, test::Values::whole, kWhole},
    {"below a tile", 5, 7, 3, test::Values::random, kBoth},
    {"above a tile, odd gaps", 67, 131, 35, test::Values::whole, {.alpha = 1, .beta = 1}, {.padding = 3, .offset = 1}},
    {"deep", 9, 11, 1637, test::Values::random},
    {"no depth, nothing to read", 33, 35, 0},
    {"wide", 72, 136, 40, test::Values::random, kBoth},
    {"wide and deep, gaps", 40, 72, 520, test::Values::whole, kWhole, {.padding = 16, .offset = 16}},
    {"a wide row", 1, 80, 272, test::Values::random, kBoth},
    {"a wide column", 80, 1, 272, test::Values::whole, kWhole},
    {"wide, no depth, gaps", 64, 72, 0, test::Values::whole, {.alpha = test::kInfinity, .beta = 2}, {16, 16}},
};

struct Case {
  std::string_view family;
  Precision precision;
  Layout layout;
  std::string config;                   ///< what is not the default
  bool is_drawn = false;                ///< whether it is drawn and not chosen
  std::vector<std::string> alike = {};  ///< other drawn configurations, of the same program
};

inline std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.family << ' ' << to_string(of.precision) << ' ' << to_string(of.layout) << ' ' << of.config;
}

inline constexpr std::int64_t kMostThreads = 300'000;  // the most threads of a drawn scene: a second or two
inline constexpr std::size_t kFewestScenes = 3;        // one for each order of threads

/// A case's defaults are those for this problem.
Problem typical(Precision precision, Layout layout);

/// The precision in which a family shows its values: fp32, or what tensor cores have.
Precision shown_in(const Family& family);

/// Knows the values that cases show in shown_in().
test::Sampler sampler_beside(const std::vector<Case>& cases, const Family& family);

/// What a drawn configuration runs: what was made for that, and the smaller scenes of all configurations where some of
/// that would take too long.
std::vector<Scene> scenes_of_drawn(const Family& family, Layout layout, const Config& config);

/// The cases of every run of the tests. Together they execute every line of the kernels' sources, and take every
/// branch, that any case does, nearly all of them in each family and for each width of elements
/// (docs/lab/2026-11-26-tests.md).
std::vector<Case> covering_cases();

/// The others, for `scripts/test --all`: with the covering ones they show every value of every parameter, and every
/// family's defaults in every layout.
std::vector<Case> further_cases();

/// Adds configurations that show, in shown_in(), those values of the family's parameters that no case shows: as far as
/// possible some that run all scenes that were made for drawn ones.
void add_missing_values(const Family& family, std::vector<Case>& cases);

}  // namespace mmtune::shim
