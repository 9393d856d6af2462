// All configurations of a family for one problem on one GPU, and why the others are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "templates/family.h"

namespace mmtune {

/// How many configurations each rule left out; each counts once, by its first reason.
struct SpaceCount {
  std::int64_t total = 0;
  std::int64_t searched = 0;
  std::map<std::string_view, std::int64_t> removed;    ///< cannot run, by the reason of Rules::must
  std::map<std::string_view, std::int64_t> not_worth;  ///< not tried, by the reason of Rules::worth
};

/// A smaller space: only these values of these parameters ("BM=128,256 TM=16"). Parameters that a family lacks do not
/// restrict it.
using Restriction = std::map<std::string, std::vector<int>, std::less<>>;

/// Parses "NAME=VALUE,VALUE NAME=VALUE …". Throws UsageError naming the offending token.
Restriction parse_restriction(std::string_view text);

/// The cartesian product of the family's values filtered by its rules of both kinds. Holds only references and small
/// tables: nothing is enumerated until asked.
class SearchSpace {
 public:
  SearchSpace(const Family& family, const Problem& problem, const DeviceSpec& device,
              const Restriction& restriction = {});

  /// The size of the product before any rule.
  std::int64_t size() const;

  /// Calls `visit` for every configuration of the space in table order; stops early when it returns false.
  void for_each(const std::function<bool(const Config&)>& visit) const;

  std::vector<Config> all() const;
  SpaceCount count() const;

  /// Configurations of the space that differ from `config` in one parameter by one step of its table. `config` must be
  /// complete (Family::complete); it need not be in the space.
  std::vector<Config> neighbours(const Config& config) const;

  /// Whether it is complete, in table order, with values of the table, and obeys the rules.
  bool contains(const Config& config) const;

 private:
  /// Visits the whole product with what speaks against each point.
  void for_each_point(const std::function<bool(const Config&, const Rules&)>& visit) const;
  Config first() const;

  const Family& family_;
  Problem problem_;
  DeviceSpec device_;
  std::vector<ParamInfo> params_;
};

}  // namespace mmtune
