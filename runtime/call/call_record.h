// What an application multiplied, for tuning: a file of shapes with how often and how long.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "templates/problem/problem.h"

namespace mmtune {

/// The first line of such a file.
inline constexpr std::string_view kRecordHeading = "precision,layout,m,n,k,count,seconds";

/// Calls of one problem.
struct RecordedCalls {
  Problem problem;
  std::int64_t count = 0;
  double seconds = 0;  ///< the GPU time of all of them together, as expected of their kernels, not measured
};

/// Adds rows with the columns of kRecordHeading to a CSV file, the longest time first, as append_whole_rows() does.
/// Problems that differ in alignment alone become one row; rows of equal shape that several libraries or processes have
/// added count together. Throws what that throws.
void append_record(const std::string& path, const std::vector<RecordedCalls>& calls);

}  // namespace mmtune
