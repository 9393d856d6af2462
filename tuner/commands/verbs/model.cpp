// mmtune model: how good the analytic model is, held against what a database or a file of a benchmark has measured.

#include <memory>

#include "runtime/base/log.h"
#include "tuner/commands/described_device.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/verb.h"
#include "tuner/replay/model_check.h"
#include "tuner/replay/model_fit.h"
#include "tuner/replay/model_quality.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

struct ModelOptions : Options {
  std::string sizes;
  int least = 16;
  std::string check;
  std::string sets;
  bool fit = false;
  bool inputs = false;
  bool numbers = false;
};

/// A file without a wanted line is an error, as a database without one is.
ExitCode check_file(const ModelOptions& options, const DeviceSpec& device, const std::vector<Size>& sizes) {
  auto times = checked_times(options.check, device);
  const auto sets = options.sets.empty() ? std::vector<std::string_view>{} : split(options.sets, ',');
  std::erase_if(times, [&](const CheckedTime& time) {
    return !is_selected(time.problem, options, sizes) || !is_wanted(sets, std::string_view(time.set));
  });
  if (times.empty()) {
    print(error_table({}, options.format), options);
    log::error(
        "--check '{}': no line is a measured time of what was asked for; leave options out, or name another file",
        options.check);
    return ExitCode::no_candidate;
  }
  if (options.fit) {
    const ModelFit fit = fit_numbers(times, device);
    print(fit_table(fit, device), options);
    log::warning("{}", fit_summary(fit));
    return ExitCode::done;
  }
  print(options.inputs ? correction_table(times, device) : error_table(model_errors(times), options.format), options);
  log::warning("{}", error_summary(times));
  return ExitCode::done;
}

ExitCode model(const ModelOptions& options) {
  const auto device = described_device(options);
  if (options.numbers) {
    print(numbers_table(device.spec), options);
    return ExitCode::done;
  }
  const auto sizes = selected_sizes(options.sizes);
  if (!options.check.empty()) return check_file(options, device.spec, sizes);
  Store store = Store::open(database_path(options), OpenMode::read_only);
  std::vector<ModelQuality> rows;
  for (const TimedProblem& each : timed_problems(store, key_of(device.spec))) {
    const auto best = each.best();
    if (!is_selected(each.problem, options, sizes) || best == nullptr || best->trial.key.evidence != Evidence::measured)
      continue;
    if (static_cast<int>(each.trials.size()) < options.least) continue;
    rows.push_back(quality_of(each, device.spec));
  }
  print(quality_table(rows, options.format), options);
  if (rows.empty()) {
    log::error("{}: no size of {} with {} measured configurations; run mmtune tune there", store.path(),
               device.spec.name, options.least);
    return ExitCode::no_candidate;
  }
  log::warning("{}", quality_summary(rows));
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_model() {
  auto options = std::make_shared<ModelOptions>();
  Verb verb{.name = "model",
            .group = VerbGroup::results,
            .help = "How good the analytic model is, held against stored times",
            .examples = {"mmtune model --device model:h200", "mmtune model --device 0 --sizes 256..8192 --format csv",
                         "mmtune model --device model:h200 --check bench.csv --sets square,odd",
                         "mmtune model --device model:h200 --check trials.csv --fit",
                         "mmtune model --device model:h200 --numbers"},
            .run = [options] { return model(*options); }};
  verb.add("Problems", {selected_sizes_option(options->sizes), device_option(*options)});
  verb.add("Problems", selected_problem_options(*options));
  verb.add("Problems", {{"--least", "NUMBER", "sizes with fewer measured configurations are left out",
                         number_target(options->least, 2, 1 << 20)},
                        database_option(*options)});
  verb.add(
      "Files",
      {{"--check", "FILE",
        "times are those of a file that mmtune bench or mmtune show --trials wrote with --format csv, and "
        "not the database's",
        file_target(options->check)},
       only_with("--check", {"--sets", "LIST", "only lines of these sets", list_target(options->sets)}),
       only_with("--check",
                 flag_option("--fit", "set the model's fitted numbers anew by these times, and print those that change",
                             options->fit)),
       only_with("--check",
                 never_with("--fit", flag_option("--inputs",
                                                 "print each time with what the model's correction is told of its call",
                                                 options->inputs)))});
  verb.add("Output",
           {flag_option("--numbers", "print the model's numbers for the device, each with its unit and source",
                        options->numbers)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
