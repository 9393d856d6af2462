// What a process did with calls of cuBLAS, for `mmtune run`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "preload/product.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// What such a file begins with. Extents are row-major, as kernels see them; `reason` is empty where calls were served.
/// `us` is the time of one product that was expected of mmtune's kernel, `ratio` how many times as long cuBLAS takes.
/// Rows without a precision are calls that were passed on before their shape was looked at, or in spite of it.
inline constexpr std::string_view kReportHeading = "precision,layout,m,n,k,epilogue,reason,calls,products,us,ratio";

struct ReportRow {
  std::optional<Problem> problem = {};
  Activation activation = Activation::none;
  Bias bias = Bias::none;
  std::optional<Passed> passed = {};
  std::int64_t calls = 0;
  std::int64_t products = 0;
  double us = 0;
  double ratio = 0;
};

/// Adds the rows with calls to the file that MMTUNE_CUBLAS_REPORT names, as append_whole_rows() does.
void append_report(const std::string& path, const std::vector<ReportRow>& rows);

}  // namespace mmtune
