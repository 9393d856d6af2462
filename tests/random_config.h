// Any problem, and any point of a family's table.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "templates/family/family.h"

namespace mmtune::test {

/// A problem of any precision and layout, with extents that align operands well or badly.
inline Problem random_problem(std::mt19937& random) {
  const auto any = [&](const auto& values) { return values[random() % std::size(values)]; };
  const std::int64_t extent = any(std::array{1024, 1001});
  return packed_problem(any(kAllPrecisions), any(kAllLayouts), extent, extent, extent);
}

/// Every parameter has a value of its own, each as likely; the rules may forbid them together.
inline Config random_config(const Family& family, std::mt19937& random) {
  std::vector<Setting> settings;
  for (const ParamInfo& param : family.params()) {
    settings.push_back({std::string(param.name), param.values[random() % param.values.size()]});
  }
  return Config(std::move(settings));
}

}  // namespace mmtune::test
