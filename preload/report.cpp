#include "preload/report.h"

#include <fmt/format.h>

#include "runtime/base/whole_rows.h"

namespace mmtune {
namespace {

std::string epilogue_of(const ReportRow& row) {
  const std::string_view bias = row.bias == Bias::none ? "" : "bias";
  if (row.activation == Activation::none) return std::string(bias);
  return fmt::format("{}{}{}", bias, bias.empty() ? "" : "+", to_string(row.activation));
}

std::string shape_of(const ReportRow& row) {
  if (!row.problem) return ",,,,";
  const Problem& p = *row.problem;
  return fmt::format("{},{},{},{},{}", to_string(p.precision), to_string(p.layout), p.m, p.n, p.k);
}

}  // namespace

void append_report(const std::string& path, const std::vector<ReportRow>& rows) {
  std::string text;
  for (const ReportRow& row : rows) {
    if (row.calls == 0) continue;
    text += fmt::format("{},{},{},{},{},{:.6g},{:.6g}\n", shape_of(row), epilogue_of(row),
                        row.passed ? to_string(*row.passed) : "", row.calls, row.products, row.us, row.ratio);
  }
  if (!text.empty()) append_whole_rows("MMTUNE_CUBLAS_REPORT", path, kReportHeading, text);
}

}  // namespace mmtune
