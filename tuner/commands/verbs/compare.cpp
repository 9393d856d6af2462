// mmtune compare: two devices, or two databases, side by side.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "db/store.h"
#include "runtime/base/log.h"
#include "templates/base/parsed_number.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/verb.h"
#include "tuner/commands/winners.h"
#include "tuner/replay/device_comparison.h"
#include "tuner/workers/installed_gpus.h"

namespace mmtune {
namespace {

struct CompareOptions : Options {
  std::string a, b;
  std::string sizes;
};

bool is_device(const std::string& name) {
  return name == "auto" || name.starts_with("model:") || parsed_number<std::uint64_t>(name).has_value();
}

/// The GPU with most decisions in a database. Where it has none, or one that is not known, nothing, and says so.
std::optional<DeviceSpec> main_device(Store& store) {
  std::optional<DeviceKey> best;
  std::size_t most = 0;
  for (const DeviceKey& key : store.devices()) {
    const std::size_t winners = store.winners({.device = key}).size();
    if (winners <= most) continue;
    most = winners;
    best = key;
  }
  auto device = best ? known_gpu(*best) : std::nullopt;
  if (!best) {
    log::error("{}: no winner in it to compare; run mmtune tune --db on it", store.path());
  } else if (!device) {
    log::error("{}: the limits of its GPU '{}' are not known here; compare it on a machine with that GPU", store.path(),
               best->name);
  }
  return device;
}

/// What a database has of a GPU.
Side stored_side(std::string name, const DeviceSpec& device, Store& store) {
  const DeviceKey key = key_of(device);
  return {std::move(name), device, timed_problems(store, key), best_evidence(store.winners({.device = key}))};
}

/// A device, with what the default database has of it, or a database, with the GPU that it has most decisions of.
/// Nothing for a database without one, which is said.
std::optional<Side> side_of(const std::string& name, const Options& options) {
  if (!is_device(name)) {
    Store store = Store::open(name, OpenMode::read_only);
    const auto device = main_device(store);
    if (!device) return std::nullopt;
    return stored_side(fmt::format("{} ({})", name, device->name), *device, store);
  }
  const DeviceSpec device = choose_device(name).spec;
  auto store = stored_results(options);
  return store ? stored_side(device.name, device, *store) : Side{device.name, device, {}};
}

/// What either side has trials of, as far as the options name it; A's first.
std::vector<Problem> problems_of(const CompareOptions& options, const Side& a, const Side& b) {
  const auto sizes = selected_sizes(options.sizes);
  std::vector<Problem> problems;
  for (const Side* side : {&a, &b}) {
    for (const TimedProblem& each : side->problems) {
      const bool is_new = side == &a || a.find(each.problem) == nullptr;
      if (is_new && is_selected(each.problem, options, sizes)) problems.push_back(each.problem);
    }
  }
  return problems;
}

ExitCode compare(const CompareOptions& options) {
  const auto side_a = side_of(options.a, options), side_b = side_of(options.b, options);
  if (!side_a || !side_b) return ExitCode::no_candidate;
  const Side &a = *side_a, &b = *side_b;
  std::vector<SideBySide> rows;
  for (const Problem& problem : problems_of(options, a, b)) {
    if (auto row = compare_sides(a, b, problem)) {
      rows.push_back(std::move(*row));
    } else {
      log::warning("{}: no kernel that was right runs on both", to_string(problem));
    }
  }
  print(sides_table(rows, a, b, options.format), options);
  if (!rows.empty()) return ExitCode::done;
  log::error("{} and {}: nothing is stored of either that can be compared; run mmtune tune on one", a.name, b.name);
  return ExitCode::no_candidate;
}

}  // namespace

Verb mmtune_verb_compare() {
  auto options = std::make_shared<CompareOptions>();
  Verb verb{.name = "compare",
            .group = VerbGroup::results,
            .help = "Two devices or databases side by side: winners, how one's does on the other, and why",
            .examples = {"mmtune compare 0 model:a100", "mmtune compare then.db now.db --sizes 256..8192 --format csv"},
            .run = [options] { return compare(*options); }};
  const auto side = [](const char* name, const char* help, std::string& target) {
    return required({name, "SIDE", help, text_target(target)});
  };
  verb.add("Sides", {side("a", "a GPU's number, model:NAME, or a database file", options->a),
                     side("b", "the same", options->b)});
  verb.add("Problems", {selected_sizes_option(options->sizes), database_option(*options)});
  verb.add("Problems", selected_problem_options(*options));
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
