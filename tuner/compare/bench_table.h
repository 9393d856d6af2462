// Comparisons with an opponent as a table, and what they amount to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "templates/problem/problem.h"
#include "tuner/compare/bench.h"
#include "tuner/text/report.h"

namespace mmtune {

struct BenchRow {
  std::string set;
  Problem problem;
  std::string family;
  std::string config;
  double peak_tflops = 0;  ///< the peak of the GPU in this precision
  Comparison comparison;
};

/// "square" for "@bench/sizes/square.txt", "sizes" for sizes that are written out.
std::string set_name(std::string_view sizes);

/// csv and json get every column under its persistent name; table and md fewer, friendlier ones. `opponent` and
/// `entries` are the names of the columns that tell of the opponent.
Table bench_table(const std::vector<BenchRow>& rows, std::string_view opponent, const std::vector<std::string>& entries,
                  Format format);

/// One line for each set and precision that has ratios: their geometric mean, and the least with its size.
std::vector<std::string> bench_summary(const std::vector<BenchRow>& rows);

}  // namespace mmtune
