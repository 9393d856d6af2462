#include "tuner/replay/model_check.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "runtime/base/log.h"
#include "templates/base/parsed_number.h"
#include "templates/family/families.h"
#include "templates/model/correction.h"
#include "templates/model/power.h"
#include "tuner/race/quantile.h"
#include "tuner/text/size_file.h"
#include "tuner/text/sizes.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

/// The lines of a file, by the names of its columns.
class TimesReader {
 public:
  TimesReader(const std::string& path, const DeviceSpec& device)
      : file_(path, fmt::format("--check '{}'", excerpt(path))), device_(device) {
    if (file_.column("median_us")) time_column_ = "median_us";
    const std::initializer_list<std::string_view> needed = {"precision", "layout",     "m",      "n",
                                                            "k",         time_column_, "family", "config"};
    for (const std::string_view name : needed) {
      if (!file_.column(name)) {
        throw UsageError(
            fmt::format("--check '{}': it has no column '{}'; name a file that mmtune bench --format csv or "
                        "mmtune show --trials --format csv wrote",
                        excerpt(path), name));
      }
    }
  }

  std::vector<CheckedTime> all() {
    std::vector<CheckedTime> times;
    int left = 0;
    while (auto row = file_.next()) {
      row_ = std::move(*row);
      if (!is_measured()) continue;
      if (auto time = this->time()) {
        times.push_back(std::move(*time));
      } else if (++left == 1) {
        place_left_ = row_.place;
      }
    }
    if (left > 0) say_left(left, times.empty());
    return times;
  }

 private:
  std::string_view cell(std::string_view name) const {
    const auto column = file_.column(name);
    return column && *column < row_.cells.size() ? row_.cells[*column] : std::string_view{};
  }

  /// Whether the row, if it is a trial of a database, was right and measured.
  bool is_measured() const {
    const auto says = [this](std::string_view name, std::string_view value) {
      return !file_.column(name) || cell(name) == value;
    };
    return !cell(time_column_).empty() && says("outcome", "ok") && says("source", "measured");
  }

  [[noreturn]] void refuse(std::string_view name, std::string_view remedy) const {
    throw UsageError(fmt::format("{}: {} '{}'; {}", row_.place, name, excerpt(cell(name)), remedy));
  }

  /// Kernels change: a file of yesterday may have configurations that their rules leave out today.
  void say_left(int rows, bool are_all) const {
    const auto text = fmt::format("{}: {} with a configuration that {} does not run; name the device that was measured",
                                  place_left_, counted(rows, "row"), device_.name);
    if (are_all) throw UsageError(text);
    log::warning("{}, or measure them again: left out", text);
  }

  double measured_us() const {
    constexpr double kMost = 1e12;
    const auto value = parsed_number<double>(cell(time_column_));
    if (!value || !(*value > 0) || *value > kMost)
      refuse(time_column_, fmt::format("write a number up to {:g}", kMost));
    return *value;
  }

  std::int64_t extent(std::string_view name) const {
    const auto value = parsed_number<std::uint64_t>(cell(name));
    if (!value || *value < 1 || *value > kMaxExtent)
      refuse(name, fmt::format("write a number from 1 to {}", kMaxExtent));
    return static_cast<std::int64_t>(*value);
  }

  template <class Parse>
  auto parsed(std::string_view name, Parse parse) const {
    try {
      return parse(cell(name));
    } catch (const Error& error) {
      throw UsageError(fmt::format("{}: {}", row_.place, error.what()));
    }
  }

  /// Nothing if the device does not run it.
  std::optional<CheckedTime> time() const {
    const auto precision = parse_precision(cell("precision"));
    if (!precision) refuse("precision", "write one that mmtune tune --help names");
    const auto layout = parse_layout(cell("layout"));
    if (!layout) refuse("layout", "write nn, nt, tn or tt");
    CheckedTime time;
    time.set = cell("set");
    time.problem = packed_problem(*precision, *layout, extent("m"), extent("n"), extent("k"));
    const Family& family = *parsed("family", [](std::string_view name) { return &family_named(name); });
    time.candidate = {&family, parsed("config", [&](std::string_view text) {
                        return family.with_defaults(family.parse(text), time.problem);
                      })};
    time.measured_us = measured_us();
    if (!family.judge(time.problem, time.candidate.config, device_).ok()) return std::nullopt;
    time.prediction = predict(time.problem, family.plan(time.problem, time.candidate.config, device_), device_, 0);
    return time;
  }

  SizeFile file_;
  std::string_view time_column_ = "mmtune_us";
  SizeFile::Row row_;
  std::string place_left_;  ///< the place of the first row that the device does not run
  DeviceSpec device_;
};

std::vector<double> sizes_of_errors(const std::vector<const CheckedTime*>& times) {
  std::vector<double> sizes;
  for (const CheckedTime* time : times) sizes.push_back(std::abs(time->error()));
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

ModelError error_of(const std::vector<const CheckedTime*>& times) {
  const CheckedTime& worst = **std::max_element(times.begin(), times.end(), [](const auto* x, const auto* y) {
    return std::abs(x->error()) < std::abs(y->error());
  });
  std::array<int, kBottlenecks> named{};
  for (const CheckedTime* time : times) ++named[static_cast<std::size_t>(time->prediction.bottleneck())];
  return {.precision = worst.problem.precision,
          .family = std::string(worst.candidate.family->name()),
          .rows = static_cast<int>(times.size()),
          .median_error = quantile(sizes_of_errors(times), 0.5),
          .worst_error = worst.error(),
          .worst = worst.problem,
          .bottleneck = static_cast<Bottleneck>(std::max_element(named.begin(), named.end()) - named.begin())};
}

}  // namespace

std::vector<CheckedTime> checked_times(const std::string& path, const DeviceSpec& device) {
  return TimesReader(path, device).all();
}

std::vector<ModelError> model_errors(const std::vector<CheckedTime>& times) {
  std::map<std::pair<Precision, std::string_view>, std::vector<const CheckedTime*>> groups;
  for (const CheckedTime& time : times) {
    groups[{time.problem.precision, time.candidate.family->name()}].push_back(&time);
  }
  std::vector<ModelError> errors;
  for (const auto& [key, members] : groups) errors.push_back(error_of(members));
  return errors;
}

Table error_table(const std::vector<ModelError>& rows, Format format) {
  using Row = ModelError;
  const bool full = is_for_programs(format);
  const auto share = [full](double error) { return full ? Cell(error, 4) : Cell(100 * error, 1); };
  std::vector<CellOf<Row>> columns{
      {{"precision"}, [](const Row& r) { return to_string(r.precision); }},
      {{"family"}, [](const Row& r) { return r.family; }},
      {{"rows", kRight}, [](const Row& r) { return r.rows; }},
      {{full ? "median_error" : "median, %", kRight}, [share](const Row& r) { return share(r.median_error); }},
      {{full ? "worst_error" : "worst, %", kRight}, [share](const Row& r) { return share(r.worst_error); }},
  };
  if (full) {
    columns.push_back({{"worst_m", kRight}, [](const Row& r) { return r.worst.m; }});
    columns.push_back({{"worst_n", kRight}, [](const Row& r) { return r.worst.n; }});
    columns.push_back({{"worst_k", kRight}, [](const Row& r) { return r.worst.k; }});
  } else {
    columns.push_back({{"of"}, [](const Row& r) { return to_string(size_of(r.worst)); }});
  }
  columns.push_back({{"bottleneck"}, [](const Row& r) { return to_string(r.bottleneck); }});
  return table_of(columns, rows);
}

Table correction_table(const std::vector<CheckedTime>& times, const DeviceSpec& device) {
  struct Row {
    const CheckedTime* time;
    CorrectionInputs inputs;
  };
  std::vector<Row> rows;
  for (const CheckedTime& time : times) {
    const LaunchPlan plan = time.candidate.family->plan(time.problem, time.candidate.config, device);
    const PlanCost cost = cost_of(time.problem, plan, device, 0);
    if (has_correction(time.problem, cost, 1)) {
      rows.push_back({&time, correction_inputs(time.problem, cost, time.prediction)});
    }
  }
  std::vector<CellOf<Row>> columns{
      {{"precision"}, [](const Row& r) { return to_string(r.time->problem.precision); }},
      {{"layout"}, [](const Row& r) { return to_string(r.time->problem.layout); }},
      {{"m", kRight}, [](const Row& r) { return r.time->problem.m; }},
      {{"n", kRight}, [](const Row& r) { return r.time->problem.n; }},
      {{"k", kRight}, [](const Row& r) { return r.time->problem.k; }},
      {{"config"}, [](const Row& r) { return r.time->candidate.config.text(); }},
      {{"measured_us", kRight}, [](const Row& r) { return Cell(r.time->measured_us, 4); }},
      {{"analytic_us", kRight}, [](const Row& r) { return Cell(r.time->prediction.analytic_us, 4); }},
      {{"power_factor", kRight},
       [&device](const Row& r) { return Cell(power_factor(r.time->prediction.shares, device), 4); }},
  };
  for (std::size_t i = 0; i < kCorrectionInputs; ++i) {
    columns.push_back({{fmt::format("input_{}", i), kRight}, [i](const Row& r) { return Cell(r.inputs[i], 4); }});
  }
  return table_of(columns, rows);
}

std::string error_summary(const std::vector<CheckedTime>& times) {
  std::vector<const CheckedTime*> all;
  for (const CheckedTime& time : times) all.push_back(&time);
  return fmt::format("the model is off by {:.1f} % (median of {} times)", 100 * quantile(sizes_of_errors(all), 0.5),
                     times.size());
}

}  // namespace mmtune
