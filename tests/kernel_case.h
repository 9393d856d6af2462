// Parameters of tests that run kernels of all families, each in one precision and layout.
#pragma once

#include <fmt/format.h>
#include <mmtune/types.h>

#include <ostream>
#include <string>
#include <string_view>

namespace mmtune::test {

struct KernelCase {
  std::string_view family;
  Precision precision;
  Layout layout;
  std::string_view settings;  ///< the settings that are not the default
};

/// "simt fp32 nn SPLIT=4", of a KernelCase, or what has more members than one.
std::string text_of_case(const auto& of) {
  return fmt::format("{} {} {} {}", of.family, to_string(of.precision), to_string(of.layout), of.settings);
}

inline std::ostream& operator<<(std::ostream& out, const KernelCase& of) { return out << text_of_case(of); }

/// Names instances of a suite: "simt_fp32_nn_7".
inline constexpr auto name_of_case = [](const auto& instance) {
  return fmt::format("{}_{}_{}_{}", instance.param.family, to_string(instance.param.precision),
                     to_string(instance.param.layout), instance.index);
};

}  // namespace mmtune::test
