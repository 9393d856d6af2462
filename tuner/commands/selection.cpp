#include "tuner/commands/selection.h"

#include <algorithm>
#include <utility>

#include "templates/base/letters.h"
#include "templates/gpu/gpu_catalog.h"

namespace mmtune {

std::vector<Option> selected_problem_options(Options& options) {
  options.precisions.clear();
  options.layouts.clear();
  return problem_options(options);
}

std::vector<Option> selection_options(Options& options) {
  options.device.clear();
  const auto gpu_name = [](const std::string& text) {
    return text.starts_with("model:") ? catalog_gpu(text.substr(6)).name : text;
  };
  Target device = parsed_target(options.device, gpu_name);
  device.offered = device_target(options.device).offered;
  std::vector<Option> list = selected_problem_options(options);
  list.insert(list.begin(), {"--device", "NAME", "only GPUs whose name contains this; model:NAME is that model's name",
                             std::move(device)});
  return list;
}

bool contains_in_any_case(std::string_view text, std::string_view part) {
  return part.empty() || std::search(text.begin(), text.end(), part.begin(), part.end(), is_same_letter) != text.end();
}

Option selected_sizes_option(std::string& sizes) {
  Option option = sizes_option(sizes);
  option.required = false;
  return option;
}

std::vector<Size> selected_sizes(const std::string& text) {
  return text.empty() ? std::vector<Size>{} : parse_sizes(text);
}

bool is_selected(const Problem& problem, const Options& options, const std::vector<Size>& sizes) {
  return is_wanted(options.precisions, problem.precision) && is_wanted(options.layouts, problem.layout) &&
         is_wanted(sizes, size_of(problem));
}

bool is_selected(const TrialKey& key, const Options& options, const std::vector<Size>& sizes, std::string_view family) {
  return contains_in_any_case(key.device.name, options.device) && is_selected(key.problem, options, sizes) &&
         (family.empty() || key.family == family);
}

std::optional<Store> stored_results(const Options& options) {
  const std::string path = database_path(options);
  if (options.database.empty() && !database_exists(path)) return std::nullopt;
  return Store::open(path, OpenMode::read_only);
}

}  // namespace mmtune
