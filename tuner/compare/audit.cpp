#include "tuner/compare/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tuner/race/quantile.h"

namespace mmtune {
namespace {

constexpr std::array<std::pair<std::string_view, Policy>, 3> kPolicies{
    {{"nearest", Policy::nearest}, {"model", Policy::model}, {"learnt", Policy::measured}}};

Cell optional_us(const std::optional<double>& us) { return {us.value_or(kUnknown), 3}; }

std::string summary_of(std::string_view policy, const std::vector<AuditRow>& rows) {
  std::vector<double> logs, losses, errors;
  for (const AuditRow& row : rows) {
    if (row.cublas_us) logs.push_back(std::log(*row.cublas_us / row.us));
    if (row.tuned_us) losses.push_back(row.us / *row.tuned_us - 1);
    if (row.expected_us > 0) errors.push_back(std::abs(row.expected_us / row.us - 1));
  }
  for (auto* values : {&logs, &losses, &errors}) std::sort(values->begin(), values->end());
  std::string text = fmt::format("{}: {} sizes", policy, rows.size());
  if (!logs.empty()) {
    text += fmt::format("; speed of cuBLAS times {:.3f} (geometric mean), {:.3f} (tenth percentile), {:.3f} (worst)",
                        std::exp(mean(logs)), std::exp(quantile(logs, 0.1)), std::exp(logs.front()));
  }
  if (!losses.empty()) {
    text += fmt::format("; slower than tuned by {:.1f} % (mean of {}), {:.1f} % (worst)", 100 * mean(losses),
                        losses.size(), 100 * losses.back());
  }
  if (!errors.empty()) text += fmt::format("; expected times off by {:.0f} % (median)", 100 * quantile(errors, 0.5));
  return text;
}

}  // namespace

std::vector<AuditRow> audit_size(const Problem& problem, std::uint64_t seed, const DispatchTable& table,
                                 const ProgramOf& program_of, const std::optional<Program>& tuned,
                                 const AuditMeasure& measure) {
  std::vector<AuditRow> rows;
  std::vector<Program> programs;
  std::vector<std::size_t> measured;  // the program of each row
  const auto add = [&](std::string_view policy, std::string_view match, double expected_us, const Program& program) {
    const auto& [family, config] = program.candidate;
    rows.push_back({std::string(policy), seed, problem, std::string(match), std::string(family->name()), config.text(),
                    expected_us});
    const auto is_same = [&](const Program& other) {
      return other.binary.hash == program.binary.hash && key_of(other.candidate) == key_of(program.candidate);
    };
    const auto same = std::find_if(programs.begin(), programs.end(), is_same);
    measured.push_back(static_cast<std::size_t>(same - programs.begin()));
    if (same == programs.end()) programs.push_back(program);
  };
  if (tuned) add("exact", to_string(Match::exact), 0, *tuned);
  for (const auto& [name, policy] : kPolicies) {
    const Choice choice = table.choose(problem, policy);
    if (const auto program = program_of(choice)) add(name, to_string(choice.match), choice.expected_us, *program);
  }
  if (rows.empty()) return rows;
  const AuditTimes times = measure(problem, programs);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].us = times.us[measured[i]];
    rows[i].cublas_us = times.cublas_us;
    if (tuned) rows[i].tuned_us = times.us[measured.front()];
  }
  return rows;
}

Table audit_table(const std::vector<AuditRow>& rows) {
  Table table({left("policy"), right("seed"), left("precision", Fit::shared), left("layout", Fit::shared), right("m"),
               right("n"), right("k"), left("match"), left("family"), left("config", Fit::wraps), right("us"),
               right("tuned_us"), right("cublas_us")});
  for (const AuditRow& row : rows) {
    const Problem& problem = row.problem;
    table.add({row.policy, row.seed, to_string(problem.precision), to_string(problem.layout), problem.m, problem.n,
               problem.k, row.match, row.family, row.config, Cell(row.us, 3), optional_us(row.tuned_us),
               optional_us(row.cublas_us)});
  }
  return table;
}

std::vector<std::string> audit_summary(const std::vector<AuditRow>& rows) {
  std::vector<std::string> lines;
  for (const std::string_view policy : {"exact", "nearest", "model", "learnt"}) {
    std::vector<AuditRow> of_policy;
    for (const AuditRow& row : rows) {
      if (row.policy == policy) of_policy.push_back(row);
    }
    if (!of_policy.empty()) lines.push_back(summary_of(policy, of_policy));
  }
  return lines;
}

}  // namespace mmtune
