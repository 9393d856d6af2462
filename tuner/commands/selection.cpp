#include "tuner/commands/selection.h"

#include <algorithm>
#include <utility>

#include "templates/base/letters.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {

std::vector<Option> selection_options(Options& options) {
  options.device.clear();
  options.precisions.clear();
  options.layouts.clear();
  const auto gpu_name = [](const std::string& text) {
    return text.starts_with("model:") ? catalog_gpu(text.substr(6)).name : text;
  };
  Target device = parsed_target(options.device, gpu_name);
  device.offered = device_target(options.device).offered;
  std::vector<Option> list{{.names = "--device",
                            .value = "NAME",
                            .help = "only GPUs whose name contains this; model:NAME is that model's name",
                            .target = std::move(device)}};
  for (Option& option : problem_options(options)) list.push_back(std::move(option));
  return list;
}

bool contains_in_any_case(std::string_view text, std::string_view part) {
  return part.empty() || std::search(text.begin(), text.end(), part.begin(), part.end(), is_same_letter) != text.end();
}

bool is_selected(const TrialKey& key, const Options& options) {
  return contains_in_any_case(key.device.name, options.device) &&
         is_wanted(options.precisions, key.problem.precision) && is_wanted(options.layouts, key.problem.layout);
}

}  // namespace mmtune
