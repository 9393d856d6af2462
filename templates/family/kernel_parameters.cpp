#include "templates/family/kernel_parameters.h"

#include <fmt/format.h>

#include <algorithm>

#include "templates/base/letters.h"

namespace mmtune {
namespace {

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin));
}

/// What stands between the bracket at the beginning of the text and the one that closes it; all of it where none does.
std::string_view bracketed(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return text.substr(1, i - 1);
  }
  return text;
}

KernelParameter parameter_of(std::string_view text) {
  const std::string whole = trimmed(text);
  std::size_t name = whole.size();
  while (name > 0 && is_of_name(whole[name - 1])) --name;
  return {trimmed(std::string_view(whole).substr(0, name)), whole.substr(name)};
}

/// Commas within brackets belong to a type.
std::vector<KernelParameter> parameters_of(std::string_view list) {
  std::vector<KernelParameter> parameters;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '<' || list[i] == '(') ++depth;
    if (list[i] == '>' || list[i] == ')') --depth;
    if (list[i] != ',' || depth > 0) continue;
    parameters.push_back(parameter_of(list.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (!trimmed(list.substr(begin)).empty()) parameters.push_back(parameter_of(list.substr(begin)));
  return parameters;
}

/// What a parameter of that type can get.
std::string_view kind_of(std::string_view type) {
  if (type.find("Map") != std::string_view::npos) return "a tensor map";
  if (type.find('*') != std::string_view::npos) return "an address";
  return type == "Scalar" ? "a scalar" : "a number";
}

std::string_view kind_of(Arg::Kind kind) {
  switch (kind) {
    case Arg::Kind::operand:
    case Arg::Kind::slice:
      return "an address";
    case Arg::Kind::scalar:
      return "a scalar";
    case Arg::Kind::map:
      return "a tensor map";
    case Arg::Kind::ld:
    case Arg::Kind::extent:
    case Arg::Kind::number:
      break;
  }
  return "a number";
}

std::string step_fault(const LaunchStep& step, const KernelDeclaration& kernel) {
  for (std::size_t i = 0; i < std::min(step.args.size(), kernel.parameters.size()); ++i) {
    const Arg& arg = step.args[i];
    const KernelParameter& parameter = kernel.parameters[i];
    if (arg.parameter != parameter.name) {
      return fmt::format("parameter {} of {} is '{}', the plan passes '{}'", i, kernel.kernel, parameter.name,
                         arg.parameter);
    }
    if (kind_of(arg.kind) != kind_of(parameter.type)) {
      return fmt::format("parameter '{}' of {} is {}, the plan passes {}", parameter.name, kernel.kernel,
                         kind_of(parameter.type), kind_of(arg.kind));
    }
  }
  if (step.args.size() == kernel.parameters.size()) return "";
  return fmt::format("{} has {} parameters, the plan passes {} arguments", kernel.kernel, kernel.parameters.size(),
                     step.args.size());
}

}  // namespace

std::vector<KernelDeclaration> declared_kernels(std::string_view text) {
  constexpr std::string_view kKernel = "extern \"C\" __global__";
  constexpr std::string_view kBounds = "__launch_bounds__";
  std::vector<KernelDeclaration> kernels;
  for (std::size_t at = text.find(kKernel); at != std::string_view::npos; at = text.find(kKernel, at)) {
    at += kKernel.size();
    const std::size_t bounds = text.find_first_not_of(" \r\n", text.find("void", at) + 4);
    if (bounds == std::string_view::npos) break;
    std::size_t name = bounds;
    if (text.substr(bounds).starts_with(kBounds)) {
      const std::size_t open = bounds + kBounds.size();
      name = text.find_first_not_of(" \r\n", open + bracketed(text.substr(open)).size() + 2);
    }
    const std::size_t open = text.find('(', name);
    if (open == std::string_view::npos) break;
    kernels.push_back({trimmed(text.substr(name, open - name)), parameters_of(bracketed(text.substr(open)))});
  }
  return kernels;
}

std::string argument_fault(const LaunchPlan& plan, const std::vector<KernelDeclaration>& kernels) {
  for (const LaunchStep& step : plan.steps) {
    const auto kernel = std::find_if(kernels.begin(), kernels.end(),
                                     [&](const KernelDeclaration& each) { return each.kernel == step.kernel; });
    if (kernel == kernels.end()) return fmt::format("there is no kernel '{}'", step.kernel);
    if (std::string fault = step_fault(step, *kernel); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace mmtune
