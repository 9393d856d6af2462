#include "tuner/documents/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tuner/text/sizes.h"

namespace mmtune {
namespace {

using Cases = std::vector<StudyCase>;
using OptionalTime = std::optional<double>;

Problem square_of(std::int64_t n, Precision precision = Precision::fp32) {
  return packed_problem(precision, Layout::nn, n, n, n);
}

constexpr int kLinear = 0, kUncoalesced = 1, kCoalesced = 2, kBlockCoarse = 3;  // the values of naive's MAPPING

std::string naive(int mapping, int bx, int by, int coarse = 1) {
  return fmt::format("MAPPING={} BX={} BY={} COARSE={} UNROLL={}", mapping, bx, by, coarse, coarse > 1 ? 1 : 4);
}

std::string tiled(int tile) { return fmt::format("TILE={} UNROLL={}", tile, tile); }

/// Two neighbouring tiles of C in a row share a tile of A.
std::string coarsened(int tile) { return fmt::format("TILE={} CM=1 CN=2 UNROLL={}", tile, tile); }

/// "1024" or "1000x700x300"
std::string extents_text(const Problem& p) {
  return p.m == p.n && p.n == p.k ? fmt::format("{}", p.m) : to_string(size_of(p));
}

OptionalTime in_ms(double seconds) { return 1000 * seconds; }

Cases homework() {
  constexpr std::array kBaseline_s{0.23, 1.85, 6.27, 14.85, 29.00, 50.13, 79.62, 118.86, 168.48, 231.67};
  constexpr std::array kShared_s{0.01, 0.06, 0.22, 0.48, 1.02, 1.73, 2.78, 3.87, 5.93, 7.99};
  constexpr std::array kSharedTotal_s{0.73, 0.87, 1.03, 1.29, 1.91, 2.63, 3.83, 5.00, 7.13, 9.49};
  constexpr std::array<std::pair<int, double>, 6> kByBlock_s{
      {{32, 7.99}, {16, 9.68}, {8, 16.92}, {4, 75.27}, {2, 486.55}, {1, 1273.66}}};
  Cases cases;
  const auto add = [&](const char* table, std::string row, const char* column, const Problem& problem,
                       std::string_view family, std::string config, OptionalTime kernel_ms,
                       OptionalTime total_ms = {}) {
    cases.push_back(
        {"s0", table, std::move(row), column, problem, std::string(family), std::move(config), kernel_ms, total_ms});
  };
  for (std::size_t i = 0; i < kBaseline_s.size(); ++i) {
    const Problem problem = square_of(1000 * static_cast<std::int64_t>(i + 1));
    add("1 by size", extents_text(problem), "baseline", problem, "naive", naive(kUncoalesced, 32, 32),
        in_ms(kBaseline_s[i]));
    add("1 by size", extents_text(problem), "shared", problem, "tiled", tiled(32), in_ms(kShared_s[i]),
        in_ms(kSharedTotal_s[i]));
  }
  for (const auto& [block, seconds] : kByBlock_s) {
    add("2 by block at 10000", fmt::format("{}", block), "shared", square_of(10000), "tiled", tiled(block),
        in_ms(seconds));
  }
  add("3 one core and the GPU", "3000", "cpu", square_of(3000), kHostFamily, "simple", in_ms(93.79));
  add("3 one core and the GPU", "3000", "shared", square_of(3000), "tiled", tiled(32), in_ms(0.214));
  for (const auto& [m, n, k] : {std::array{1000, 500, 2000}, {777, 1234, 345}}) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, m, n, k);
    add("4 rectangles", extents_text(problem), "baseline", problem, "naive", naive(kUncoalesced, 32, 32), {});
    add("4 rectangles", extents_text(problem), "shared", problem, "tiled", tiled(32), {});
  }
  return cases;
}

Cases coarsening() {
  struct Row {
    int n, tile;
    double simple_ms, tiled_ms, coarsened_ms;
  };
  // The document's table has 1808.81 in the last row of tile 16, its listing 18088.15.
  constexpr Row kRows[] = {{256, 16, 2.28, 0.73, 0.605},
                           {256, 32, 0.59, 2.21, 0.631},
                           {1024, 16, 150.6, 51.23, 38.94},
                           {1024, 32, 145.04, 43.94, 48.93},
                           {4096, 16, 8745.83, 2764.95, 2272.07},
                           {4096, 32, 8370.59, 2383.15, 2789.64},
                           {8192, 16, 77907.42, 22154.74, 18088.15},
                           {8192, 32, 69143.46, 19305.83, 22842.91}};
  Cases cases;
  for (const Row& row : kRows) {
    const auto add = [&](const char* column, const char* family, std::string config, double ms) {
      cases.push_back({"s1", "1 kernels by size and tile", fmt::format("{} tile {}", row.n, row.tile), column,
                       square_of(row.n, Precision::int32), family, std::move(config), ms});
    };
    add("simple", "naive", naive(kCoalesced, row.tile, row.tile), row.simple_ms);
    add("tiled", "tiled", tiled(row.tile), row.tiled_ms);
    add("coarsened", "tiled_coarsened", coarsened(row.tile), row.coarsened_ms);
  }
  return cases;
}

Cases lecture() {
  Cases cases;
  const auto add = [&](const char* table, std::string column, const Problem& problem, std::string_view family,
                       std::string config, OptionalTime kernel_ms = {}, OptionalTime total_ms = {}) {
    cases.push_back({"s2", table, extents_text(problem), std::move(column), problem, std::string(family),
                     std::move(config), kernel_ms, total_ms});
  };
  constexpr const char* kEndToEnd = "1 one core and the GPU, end to end";
  add(kEndToEnd, "cpu", square_of(768), kHostFamily, "simple", {}, in_ms(1.037));
  add(kEndToEnd, "linear", square_of(768), "naive", naive(kLinear, 1, 1), {}, in_ms(0.28));
  add(kEndToEnd, "cpu", square_of(4096), kHostFamily, "simple", {}, in_ms(416.495));
  add(kEndToEnd, "linear", square_of(4096), "naive", naive(kLinear, 1, 1), {}, in_ms(0.570));
  add("2 one block", "thread2d", square_of(32), "naive", naive(kCoalesced, 32, 32));
  add("2 one block", "linear", square_of(32), "naive", naive(kLinear, 1, 1));
  for (const Precision precision : {Precision::fp32, Precision::fp64}) {
    for (const int n : {256, 512, 1024, 2048}) {
      const Problem problem = square_of(n, precision);
      const std::string name(to_string(precision));
      add("3 which version scales", name + " linear", problem, "naive", naive(kLinear, 1, 1));
      add("3 which version scales", name + " 2-D", problem, "naive", naive(kCoalesced, 32, 32));
      add("3 which version scales", name + " tiled", problem, "tiled", tiled(32));
    }
  }
  return cases;
}

Cases slides() {
  Cases cases;
  for (const auto& [m, n, k] :
       {std::array{1024, 1024, 1024}, {1000, 1000, 1000}, {1023, 1025, 1027}, {2000, 100, 3000}, {4096, 4096, 4096}}) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, m, n, k);
    const auto add = [&](const char* column, const char* family, std::string config) {
      cases.push_back({"s3", "1 tiles with edges", extents_text(problem), column, problem, family, std::move(config)});
    };
    add("baseline", "naive", naive(kCoalesced, 16, 16));
    add("tile 16", "tiled", tiled(16));
    add("tile 32", "tiled", tiled(32));
  }
  return cases;
}

Cases recitation() {
  struct Row {
    const char* kernel;
    std::string_view family;
    std::string config;
    double ms_1024, ms_2048;
  };
  const Row rows[] = {{"cpu_simple", kHostFamily, "simple", 1950, 16000},
                      {"simple_uncoalesced", "naive", naive(kUncoalesced, 32, 32), 44.5, 301},
                      {"simple_coalesced", "naive", naive(kCoalesced, 32, 32), 4.95, 38.4},
                      {"cpu_blocked", kHostFamily, "blocked", 612, 4940},
                      {"block_coarse", "naive", naive(kBlockCoarse, 8, 4, 32), 111, 303},
                      {"block_shared", "tiled", tiled(32), 2.05, 15.7}};
  Cases cases;
  for (const Row& row : rows) {
    for (const auto& [n, ms] : {std::pair{1024, row.ms_1024}, {2048, row.ms_2048}}) {
      cases.push_back({"s4", "1 kernels", row.kernel, fmt::format("n = {}", n), square_of(n), std::string(row.family),
                       row.config, ms});
    }
  }
  return cases;
}

/// The tuned kernel for each problem that a GPU has in the cases, once.
void add_tuned(Cases& cases) {
  std::vector<Problem> problems;
  for (const StudyCase& each : cases) {
    const bool is_known = std::find(problems.begin(), problems.end(), each.problem) != problems.end();
    if (each.family != kHostFamily && !is_known) problems.push_back(each.problem);
  }
  const std::string document = cases.front().document;
  for (const Problem& problem : problems) {
    cases.push_back({document, "tuned", extents_text(problem), std::string(to_string(problem.precision)), problem,
                     std::string(kTunedFamily), ""});
  }
}

}  // namespace

const std::vector<StudyDocument>& study_documents() {
  static const std::vector<StudyDocument> documents{
      {"s0", "Homework: baseline and shared memory", "Tesla K20c"},
      {"s1", "Tiled multiplication with thread coarsening", "GeForce GT 740M"},
      {"s2", "Lecture: a linear index, and growing sizes", "Tesla P100"},
      {"s3", "Slides: tiling with boundary checks", ""},
      {"s4", "Recitation: six versions", "GeForce GTX 1080"},
  };
  return documents;
}

std::vector<StudyCase> study_cases(std::string_view document) {
  constexpr std::pair<std::string_view, Cases (*)()> kMakers[] = {
      {"s0", homework}, {"s1", coarsening}, {"s2", lecture}, {"s3", slides}, {"s4", recitation}};
  Cases cases;
  for (const auto& [name, make] : kMakers) {
    if (name != document) continue;
    cases = make();
    add_tuned(cases);
  }
  return cases;
}

}  // namespace mmtune
