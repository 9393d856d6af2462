// A file of the products that an application computes, and how much of its time each takes.
//
//   precision,layout,m,n,k,count,seconds     the first line names the columns, in any order
//   fp32,nn,4096,1024,64,800,0.0123
//
// Required are m, n and k. Without precision or layout a product is of all that the user names. What a product weighs
// is its seconds, else its weight, else its count, else 1, which is also what all weigh where none weighs anything.
// Other columns are ignored. Without a heading lines are m,n,k or m,n,k,weight. Empty lines, those that begin with #
// and products with an extent of 0, which need no kernel, are left out.
#pragma once

#include <mmtune/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tuner/text/sizes.h"

namespace mmtune {

struct WeightedSize {
  Size size;
  std::optional<Precision> precision = {};
  std::optional<Layout> layout = {};
  double weight = 1;

  friend bool operator==(const WeightedSize&, const WeightedSize&) = default;
};

/// The heaviest first, each product once, with the weights of all its lines. Throws UsageError that names the file, the
/// line and what is wrong: a column that is missing, what is no extent, precision or layout, a weight below 0, no
/// products, more than kMaxSizes of them, or what read_text_file() refuses. Of a record of calls (SizeFile::is_record)
/// wrong rows are left out, with a warning.
std::vector<WeightedSize> read_calls(const std::string& path);

/// Whether it is a file, and no pipe, whose heading names a column count or seconds. Throws what read_text_file()
/// throws.
bool are_calls(const std::string& path);

}  // namespace mmtune
