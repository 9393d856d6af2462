// How a family is written (see docs/extending.md): one struct with a table of its parameters, which FamilyOf<T> makes a
// Family.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "templates/family/family.h"
#include "templates/family/param.h"

namespace mmtune {

/// A value in a family's table: a number, or {2, "coalesced"} where the number only is a code.
struct ParamValue {
  // NOLINTNEXTLINE(google-explicit-constructor): tables list numbers
  ParamValue(int value, std::string_view value_name = {}) : number(value), name(value_name) {}

  int number;
  std::string_view name;
};

/// One row of a family's table: a parameter, where it lives in Params, what it may be; see ParamInfo. Either all values
/// have names or none. The default is the member's initial value.
template <class Params>
struct ParamRow {
  std::string_view name;
  Param Params::*member;
  std::vector<ParamValue> values;
  std::string_view help;
};

template <class Params>
using ParamTable = std::vector<ParamRow<Params>>;

/// Adapts a struct T with
///   struct Params { Param …; };            members, each initialised with its default
///   static constexpr std::string_view kName, kSummary;
///   static const ParamTable<Params>& table();
///   static void rules(const Problem&, const Params&, const DeviceSpec&, Rules&);
///   static LaunchPlan plan(const Problem&, const Params&, const DeviceSpec&);
/// and optionally
///   static Summation summation(const Problem&, const Params&, const DeviceSpec&);   of floating-point sums
///   static Params default_params(const Problem&);
///   static std::span<const Proven> proven();
///   static constexpr bool kCompetes;
template <class T>
class FamilyOf final : public Family {
  using Params = typename T::Params;

 public:
  std::string_view name() const override { return T::kName; }
  std::string_view summary() const override { return T::kSummary; }

  std::span<const ParamInfo> params() const override { return params_; }

  std::string_view broken_rule(const Problem& problem, const Config& config, const DeviceSpec& device) const override {
    return judge(problem, from(config), device, Rules(nullptr, Rules::Scope::musts)).broken();
  }

  std::string_view broken_rule(const Problem& problem, std::span<const int> values, const DeviceSpec& device,
                               Reads& reads) const override {
    return judge(problem, from(values, reads), device, Rules(&reads, Rules::Scope::musts)).broken();
  }

  Rules judge(const Problem& problem, const Config& config, const DeviceSpec& device) const override {
    return judge(problem, from(config), device, Rules());
  }

  std::vector<RuleInfo> all_rules(const Problem& problem, const DeviceSpec& device) const override {
    std::vector<RuleInfo> list;
    judge(problem, from(default_config(problem)), device, Rules(list));
    return list;
  }

  LaunchPlan plan(const Problem& problem, const Config& config, const DeviceSpec& device) const override {
    return T::plan(problem, from(config), device);
  }

  std::optional<LaunchPlan> legal_plan(const Problem& problem, const Config& config,
                                       const DeviceSpec& device) const override {
    const Params params = from(config);
    Rules rules;
    own_rules(problem, params, device, rules);
    if (!rules.ok()) return {};
    LaunchPlan plan = T::plan(problem, params, device);
    check_common_limits(problem, plan, device, rules);
    if (!rules.ok()) return {};
    return plan;
  }

  Rules own_rules(const Problem& problem, std::span<const int> values, const DeviceSpec& device,
                  Reads& reads) const override {
    Rules rules(&reads);
    own_rules(problem, from(values, reads), device, rules);
    return rules;
  }

  LaunchPlan plan(const Problem& problem, std::span<const int> values, const DeviceSpec& device,
                  Reads& reads) const override {
    return T::plan(problem, from(values, reads), device);
  }

  Summation summation(const Problem& problem, const Config& config, const DeviceSpec& device) const override {
    return summation(problem, from(config), device);
  }

  Config default_config(const Problem& problem) const override {
    if constexpr (requires { T::default_params(problem); }) {
      return to_config(T::default_params(problem));
    } else {
      return to_config(Params{});
    }
  }

  std::span<const Proven> proven() const override {
    if constexpr (requires { T::proven(); }) {
      return T::proven();
    } else {
      return {};
    }
  }

  bool competes() const override {
    if constexpr (requires { T::kCompetes; }) {
      return T::kCompetes;
    } else {
      return true;
    }
  }

 private:
  static std::vector<ParamInfo> table_of_family() {
    std::vector<ParamInfo> infos;
    for (const auto& row : T::table()) {
      ParamInfo& info = infos.emplace_back(ParamInfo{row.name, {}, row.help, {}});
      for (const ParamValue& value : row.values) {
        info.values.push_back(value.number);
        if (!value.name.empty()) info.names.push_back(value.name);
      }
    }
    return infos;
  }

  static Summation summation(const Problem& problem, const Params& params, const DeviceSpec& device) {
    const Summation invariant = invariant_summation(problem, device);
    if (invariant.adder == Summation::Adder::exact) return invariant;
    if constexpr (requires { T::summation(problem, params, device); }) {
      return T::summation(problem, params, device);
    } else {
      return {};
    }
  }

  static void own_rules(const Problem& problem, const Params& params, const DeviceSpec& device, Rules& rules) {
    T::rules(problem, params, device, rules);
    if (!problem.invariant || !rules.ok()) return;
    rules.must(summation(problem, params, device) == invariant_summation(problem, device),
               "an invariant product is added up in one order for all sizes");
  }

  /// The family's own rules, then, if they all hold, the common limits.
  static Rules judge(const Problem& problem, const Params& params, const DeviceSpec& device, Rules rules) {
    own_rules(problem, params, device, rules);
    if (rules.searched()) check_common_limits(problem, T::plan(problem, params, device), device, rules);
    return rules;
  }

  static Params from(const Config& config) {
    Params params;
    for_each_row([&](const auto& row, std::size_t position) {
      if (const int* value = config.find(row.name, position)) params.*row.member = *value;
    });
    return params;
  }

  static Params from(std::span<const int> values, Reads& reads) {
    Params params;
    for_each_row(
        [&](const auto& row, std::size_t position) { params.*row.member = Param(values[position], position, reads); });
    return params;
  }

  static Config to_config(const Params& params) {
    std::vector<Setting> settings;
    for_each_row([&](const auto& row, std::size_t) {
      settings.push_back({std::string(row.name), params.*row.member});
    });
    return Config(std::move(settings));
  }

  // Params without members has no row to visit, which g++ 12 must be told to spare a warning.
  template <class Visit>
  static void for_each_row(const Visit& visit) {
    if constexpr (!std::is_empty_v<Params>) {
      std::size_t position = 0;
      for (const auto& row : T::table()) visit(row, position++);
    }
  }

  std::vector<ParamInfo> params_ = table_of_family();
};

/// Registers T: the only line of a family.cpp outside its struct. The function's name follows the folder's.
#define MMTUNE_FAMILY(folder, T)                     \
  const ::mmtune::Family& mmtune_family_##folder() { \
    static const ::mmtune::FamilyOf<T> family;       \
    return family;                                   \
  }

}  // namespace mmtune
