// What an application multiplied, for tuning: a file of shapes with how often and how long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "templates/problem.h"

namespace mmtune {

/// Calls of one problem.
struct RecordedCalls {
  Problem problem;
  std::int64_t count = 0;
  double seconds = 0;  ///< on the GPU, of all of them together; what was expected of their kernels, not measured
};

/// Adds the rows `precision,layout,m,n,k,count,seconds` to a CSV file, the longest time first, behind a header if it is
/// empty. Problems that differ in alignment alone become one row; rows of equal shape that several libraries or
/// processes have added count together. Throws Error if the file cannot be written, or is another one: one that does
/// not begin with this header is left as it is.
void append_record(const std::string& path, const std::vector<RecordedCalls>& calls);

}  // namespace mmtune
