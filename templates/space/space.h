// All configurations of a family for one problem on one GPU, and why the others are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "templates/family/family.h"

namespace mmtune {

/// How many configurations each rule left out; each counts once, by its first reason.
struct SpaceCount {
  std::int64_t total = 0;
  std::int64_t searched = 0;
  std::map<std::string_view, std::int64_t> removed;    ///< the number that cannot run, by the reason of Rules::must
  std::map<std::string_view, std::int64_t> not_worth;  ///< the number that is not tried, by the reason of Rules::worth
};

/// A smaller space: only these values of these parameters ("BM=128,256 TM=16"). Parameters that a family lacks do not
/// restrict it.
using Restriction = std::map<std::string, std::vector<int>, std::less<>>;

/// Parses "NAME=VALUE,VALUE NAME=VALUE …" with values as numbers or by the names that families have for them. Throws
/// UsageError naming the offending token.
Restriction parse_restriction(std::string_view text);

/// A configuration of a space and what the model expects of it.
struct RankedConfig {
  std::int64_t number = 0;  ///< the number for SearchSpace::config
  double predicted_us = 0;
};

/// The cartesian product of the family's values filtered by its rules of both kinds. Holds only references and small
/// tables: nothing is enumerated until asked. Enumerating costs time for what the rules tell apart, not for the
/// product: a rule that breaks ends a whole branch, all configurations that agree in the parameters it and its
/// predecessors read.
class SearchSpace {
 public:
  SearchSpace(const Family& family, const Problem& problem, const DeviceSpec& device,
              const Restriction& restriction = {});

  const Family& family() const { return family_; }

  /// The size of the product before any rule. Its configurations are numbered from 0 in table order, the last
  /// parameter fastest.
  std::int64_t size() const;
  Config config(std::int64_t number) const;
  /// The number of a configuration; none if it is not complete, in table order, with values of the table. Rules do not
  /// matter.
  std::optional<std::int64_t> number(const Config& config) const;

  /// The `limit` configurations of the space with the shortest predicted times; equals in table order.
  std::vector<RankedConfig> ranked(std::size_t limit) const;

  /// All configurations of the space in table order.
  std::vector<Config> all() const;
  SpaceCount count() const;

  /// The configurations of the space that are neighbours() of `config` (templates/space/neighbours.h), which must be
  /// complete (Family::complete), but need not be in the space.
  std::vector<Config> neighbours(const Config& config) const;

  /// Whether it is complete, in table order, with values of the table, and obeys the rules.
  bool contains(const Config& config) const;

 private:
  struct Branch;
  class Outlooks;

  /// A parameter with the values that are left of its table.
  struct Axis {
    std::string_view name;
    std::vector<int> values;
  };

  /// Combinations of values of the first parameters: parts that can be looked through side by side.
  std::size_t parts() const;
  /// Visits a part of the product, every configuration in one branch.
  void for_each_branch(std::size_t part, const std::function<void(const Branch&)>& visit) const;
  std::int64_t number(const std::vector<std::size_t>& digits) const;
  /// The numbers of the configurations of a branch.
  std::vector<std::int64_t> numbers(const Branch& branch) const;

  const Family& family_;
  Problem problem_;
  DeviceSpec device_;
  std::vector<Axis> params_;
  std::vector<std::int64_t> strides_;  ///< the distance of a parameter's next value from a configuration's number
};

}  // namespace mmtune
