// The figures that the documents quote are those of bench/results.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "templates/gpu/gpu_catalog.h"
#include "test_paths.h"
#include "tuner/replay/model_check.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

/// A file of the source tree in one line, since sentences are wrapped.
std::string content(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(fmt::format("{}/{}", MMTUNE_SOURCE_DIR, name)).rdbuf();
  std::string line = text.str();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::vector<std::string> lines(const std::string& name) {
  std::ifstream file(fmt::format("{}/{}", MMTUNE_SOURCE_DIR, name));
  std::vector<std::string> all;
  for (std::string line; std::getline(file, line);) all.push_back(line);
  return all;
}

using Row = std::map<std::string, std::string, std::less<>>;

/// The rows of a table without quoted cells, by the names of its columns.
std::vector<Row> rows(const std::string& name) {
  const auto all = lines(name);
  std::vector<Row> rows;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const auto names = split(all.front(), ',');
    const auto cells = split(all[i], ',');
    Row& row = rows.emplace_back();
    for (std::size_t column = 0; column < names.size(); ++column) row[std::string(names[column])] = cells.at(column);
  }
  return rows;
}

double number(const Row& row, std::string_view column) { return std::stod(row.find(column)->second); }

std::string microseconds(double us) { return fmt::format("{:.{}f}", us, us < 10 ? 2 : us < 100 ? 1 : 0); }

TEST(Figures, TheTableOfSquaresIsTheRaceWithCublas) {
  const auto page = lines("docs/benchmarking.md");
  int sizes = 0;
  for (const Row& row : rows("bench/results/nvidia-h200/fp32_vs_cublas.csv")) {
    if (row.at("set") != "square") continue;
    const std::string begin = fmt::format("| {} |", row.at("m"));
    const auto quoted =
        std::find_if(page.begin(), page.end(), [&](const std::string& line) { return line.starts_with(begin); });
    ASSERT_NE(quoted, page.end()) << begin;
    EXPECT_THAT(*quoted, EndsWith(fmt::format("| {} | {:.1f} | {:.0f} % | {:.2f} |",
                                              microseconds(number(row, "mmtune_us")), number(row, "mmtune_tflops"),
                                              100 * number(row, "peak_share"), number(row, "ratio"))));
    ++sizes;
  }
  EXPECT_EQ(sizes, 6);
}

TEST(Figures, TheExtremesAreNamed) {
  const auto all = rows("bench/results/nvidia-h200/fp32_vs_cublas.csv");
  const auto [worst, best] = std::minmax_element(
      all.begin(), all.end(), [](const Row& x, const Row& y) { return number(x, "ratio") < number(y, "ratio"); });
  const auto ratio = [](const Row& row) {
    return fmt::format("{:.2f} ({}×{}×{})", number(row, "ratio"), row.at("m"), row.at("n"), row.at("k"));
  };
  double error = 0;
  int slower = 0;
  for (const Row& row : all) {
    error = std::max(error, number(row, "mmtune_error") / number(row, "cublas_error"));
    slower += number(row, "ratio") < 1 ? 1 : 0;
  }
  const std::string page = content("docs/benchmarking.md");
  EXPECT_THAT(page, HasSubstr(fmt::format("Over {} shapes", all.size())));
  EXPECT_THAT(page, HasSubstr(fmt::format("between {} and {}; none is below", ratio(*worst), ratio(*best))));
  EXPECT_EQ(slower, 0) << "none is below 1.00";
  EXPECT_THAT(content("README.md"), HasSubstr(fmt::format("at most {:.2f} times that of cuBLAS", error)));
}

TEST(Figures, TheTableOfTensorCoresIsTheRaceWithCublas) {
  std::map<std::string, std::map<std::string, std::vector<double>>> ratios;  // the ratios by precision and set
  for (const Row& row : rows("bench/results/nvidia-h200/tensor_vs_cublas.csv")) {
    if (!row.at("ratio").empty()) ratios[row.at("precision")][row.at("set")].push_back(number(row, "ratio"));
  }
  const std::string page = content("docs/benchmarking.md");
  for (const auto& [precision, sets] : ratios) {
    std::string expected = fmt::format("| {} |", precision);
    for (const char* set : {"square", "between", "odd", "skinny", "layouts"}) {
      const auto found = sets.find(set);
      if (found == sets.end()) {
        expected += " |";
        continue;
      }
      double logarithms = 0;
      for (const double ratio : found->second) logarithms += std::log(ratio);
      expected += fmt::format(" {:.3f} ({:.3f}) |", std::exp(logarithms / static_cast<double>(found->second.size())),
                              *std::min_element(found->second.begin(), found->second.end()));
    }
    EXPECT_THAT(page, HasSubstr(expected));
  }
}

TEST(Figures, WhatTheModelIsOffByIsWhatItIsOffByNow) {
  const auto times = checked_times(fmt::format("{}/bench/results/nvidia-h200/tensor_vs_cublas.csv", MMTUNE_SOURCE_DIR),
                                   catalog_gpu("h200"));
  std::vector<CheckedTime> squares, others;
  for (const CheckedTime& time : times) (time.set == "square" ? squares : others).push_back(time);
  const auto median = [](const std::vector<ModelError>& errors, const ModelError& of) -> std::string {
    for (const ModelError& error : errors) {
      if (error.precision == of.precision && error.family == of.family) {
        EXPECT_LT(error.median_error, 0.25) << of.family;
        return fmt::format(" {:.1f} % of {} |", 100 * error.median_error, error.rows);
      }
    }
    return " |";
  };
  const std::string page = content("docs/lab/2026-11-24-model.md");
  for (const ModelError& all : model_errors(times)) {
    if (all.family != "mma_sync" && all.family != "wgmma") continue;
    EXPECT_THAT(page,
                HasSubstr(fmt::format("| {} | {} |{}{} {:+.1f} % ({}×{}×{}) |", to_string(all.precision), all.family,
                                      median(model_errors(squares), all), median(model_errors(others), all),
                                      100 * all.worst_error, all.worst.m, all.worst.n, all.worst.k)));
  }
}

TEST(Figures, AWholeRunLeavesWhatIsSaid) {
  const std::vector<std::string> run = lines("bench/results/nvidia-h200/whole_run.txt");
  std::istringstream counts(run.back());
  int trials = 0, programs = 0;
  counts >> trials >> programs;
  EXPECT_THAT(content("docs/database.md"),
              HasSubstr(fmt::format("leaves {} trials and {} programs", trials, programs)));
}

TEST(Figures, SearchesOfAPublishedSpaceAreThoseOfTheFile) {
  std::map<std::string, std::map<int, std::vector<double>>> shares;  // the shares by strategy and evaluations
  for (const Row& row : rows("bench/results/search_public.csv")) {
    shares[row.at("strategy")][std::stoi(row.at("evaluations"))].push_back(number(row, "share_of_best"));
  }
  const std::string page = content("docs/lab/2026-11-23-search.md");
  for (const auto& [strategy, name] :
       std::map<std::string, std::string>{{"guided", "`guided`"},
                                          {"random", "`random`"},
                                          {"random_by_definition", "random, by definition"},
                                          {"genetic_by_definition", "genetic, by definition"},
                                          {"greedy_by_definition", "greedy, by definition"}}) {
    std::string row = fmt::format("| {} |", name);
    for (const auto& [evaluations, all] : shares.at(strategy)) {
      double sum = 0;
      for (const double share : all) sum += share;
      row += fmt::format(" {:.3f} ({:.3f}) |", sum / static_cast<double>(all.size()),
                         *std::min_element(all.begin(), all.end()));
    }
    EXPECT_THAT(page, HasSubstr(row));
  }
}

}  // namespace
}  // namespace mmtune
