// Any point of a family's table.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "templates/family.h"

namespace mmtune::test {

/// Every parameter has a value of its own, each as likely; the rules may forbid them together.
inline Config random_config(const Family& family, std::mt19937& random) {
  std::vector<Setting> settings;
  for (const ParamInfo& param : family.params()) {
    settings.push_back({std::string(param.name), param.values[random() % param.values.size()]});
  }
  return Config(std::move(settings));
}

}  // namespace mmtune::test
