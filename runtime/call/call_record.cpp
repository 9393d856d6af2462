#include "runtime/call/call_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "runtime/base/whole_rows.h"
#include "runtime/choose/dispatch.h"

namespace mmtune {
namespace {

/// The calls by shape, the longest time first; those of one time in an order of their own.
std::vector<RecordedCalls> by_shape(const std::vector<RecordedCalls>& calls) {
  std::unordered_map<Problem, RecordedCalls, ProblemHash> shapes;
  for (const RecordedCalls& each : calls) {
    Problem shape = each.problem;
    shape.align = {};
    RecordedCalls& sum = shapes[shape];
    sum.problem = shape;
    sum.count += each.count;
    sum.seconds += each.seconds;
  }
  std::vector<RecordedCalls> rows;
  for (const auto& [shape, row] : shapes) rows.push_back(row);
  const auto rank = [](const RecordedCalls& row) {
    const Problem& p = row.problem;
    return std::tuple(-row.seconds, p.precision, p.layout, p.m, p.n, p.k);
  };
  std::sort(rows.begin(), rows.end(), [&](const auto& x, const auto& y) { return rank(x) < rank(y); });
  return rows;
}

}  // namespace

void append_record(const std::string& path, const std::vector<RecordedCalls>& calls) {
  if (calls.empty()) return;
  std::string rows;
  for (const RecordedCalls& row : by_shape(calls)) {
    const Problem& p = row.problem;
    rows += fmt::format("{},{},{},{},{},{},{:.6g}\n", to_string(p.precision), to_string(p.layout), p.m, p.n, p.k,
                        row.count, row.seconds);
  }
  append_whole_rows("MMTUNE_RECORD", path, kRecordHeading, rows);
}

}  // namespace mmtune
