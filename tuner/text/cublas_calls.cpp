#include "tuner/text/cublas_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string_view>

#include "tuner/text/size_file.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

/// The columns of preload/report.h.
constexpr std::array<std::string_view, 11> kColumns{"precision", "layout", "m",        "n",  "k",    "epilogue",
                                                    "reason",    "calls",  "products", "us", "ratio"};

bool has_columns(const SizeFile& file) {
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    if (file.column(kColumns[i]) != i) return false;
  }
  return true;
}

CublasCalls calls_of(const std::vector<std::string_view>& cells) {
  const auto cell = [&](std::string_view name) {
    return cells[static_cast<std::size_t>(std::find(kColumns.begin(), kColumns.end(), name) - kColumns.begin())];
  };
  const auto number = [&](std::string_view name) {
    double value = 0;
    std::from_chars(cell(name).data(), cell(name).data() + cell(name).size(), value);
    return value;
  };
  CublasCalls calls;
  if (!cell("precision").empty()) {
    calls.shape = fmt::format("{} {} {}x{}x{}{}{}", cell("precision"), cell("layout"), cell("m"), cell("n"), cell("k"),
                              cell("epilogue").empty() ? "" : " ", cell("epilogue"));
  }
  calls.reason = cell("reason");
  calls.calls = static_cast<std::int64_t>(number("calls"));
  calls.products = static_cast<std::int64_t>(number("products"));
  calls.us = number("us");
  calls.ratio = number("ratio");
  return calls;
}

/// Calls and shapes of one fate.
struct Sum {
  std::int64_t calls = 0;
  std::map<std::string, std::int64_t> shapes;  ///< the shapes, and how many calls each had

  void add(const CublasCalls& more) {
    calls += more.calls;
    if (!more.shape.empty()) shapes[more.shape] += more.calls;
  }

  /// "1200 calls of 3 shapes: bf16 tn 4096x1x4096 (800), …"
  std::string text() const {
    if (shapes.empty()) return counted(calls, "call");
    constexpr std::size_t kNamed = 3;
    std::vector<std::pair<std::int64_t, std::string>> most;
    for (const auto& [shape, count] : shapes) most.emplace_back(count, shape);
    std::sort(most.rbegin(), most.rend());
    std::vector<std::string> names;
    for (const auto& [count, shape] : most) {
      if (names.size() < kNamed) names.push_back(fmt::format("{} ({})", shape, count));
    }
    return fmt::format("{} of {}: {}{}", counted(calls, "call"), counted(std::ssize(shapes), "shape"),
                       fmt::join(names, ", "), shapes.size() > kNamed ? ", …" : "");
  }
};

}  // namespace

std::vector<CublasCalls> read_cublas_calls(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  SizeFile file(path);
  std::vector<CublasCalls> all;
  if (!has_columns(file)) return all;
  while (const auto row = file.next()) {
    if (row->cells.size() == kColumns.size()) all.push_back(calls_of(row->cells));
  }
  return all;
}

std::vector<std::string> summary_of(const std::vector<CublasCalls>& all) {
  if (all.empty()) {
    return {
        "no call of cuBLAS was seen; a program that ends by a signal or by _exit says none, and one that looks its "
        "functions up by handle, as JAX does, is not reached"};
  }
  Sum served;
  std::map<std::string, Sum> passed;
  double ours_us = 0, saved_us = 0;
  std::int64_t not_compared = 0;
  for (const CublasCalls& each : all) {
    (each.reason.empty() ? served : passed[each.reason]).add(each);
    if (!each.reason.empty()) continue;
    const double us = each.us * static_cast<double>(each.products);
    ours_us += us;
    if (each.ratio > 0) saved_us += us * (each.ratio - 1);
    if (each.ratio == 0) not_compared += each.calls;
  }
  std::vector<std::string> lines;
  lines.push_back(served.calls == 0 ? "served no call" : "served " + served.text());
  if (ours_us > 0) {
    lines.push_back(fmt::format(
        "expected to take {:.3g} ms on the GPU, {:.3g} ms less than with cuBLAS{}", ours_us / 1000, saved_us / 1000,
        not_compared == 0
            ? ""
            : fmt::format("; {} of sizes that `mmtune bench` has not compared", counted(not_compared, "call"))));
  }
  for (const auto& [reason, sum] : passed) lines.push_back(fmt::format("passed on, {}: {}", reason, sum.text()));
  return lines;
}

}  // namespace mmtune
