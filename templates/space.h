// All configurations of a family for one problem on one GPU, and why the others cannot run.
#pragma once

#include "templates/family.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

namespace mmtune {

/// How many configurations each rule removed; the reasons are those of Rules::must.
struct SpaceCount {
  std::int64_t total = 0;
  std::int64_t legal = 0;
  std::map<std::string_view, std::int64_t> removed;  ///< by reason; each configuration counts once, by its first
};

/// The cartesian product of the family's values filtered by its rules. Holds only references and small tables:
/// nothing is enumerated until asked.
class SearchSpace {
 public:
  SearchSpace(const Family& family, const Problem& problem, const DeviceSpec& device);

  /// The size of the product before any rule.
  std::int64_t size() const;

  /// Calls `visit` for every legal configuration in table order; stops early when it returns false.
  void for_each(const std::function<bool(const Config&)>& visit) const;

  std::vector<Config> legal() const;
  SpaceCount count() const;

  /// Legal configurations that differ from `config` in one parameter by one step of its table.
  std::vector<Config> neighbours(const Config& config) const;

  bool contains(const Config& config) const;

 private:
  Config at(std::int64_t index) const;

  const Family& family_;
  Problem problem_;
  DeviceSpec device_;
  std::vector<ParamInfo> params_;
};

}  // namespace mmtune
