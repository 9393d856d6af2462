// mmtune suggest: which sizes are worth tuning next.
#include "tuner/cover/suggest.h"

#include <memory>

#include "db/store.h"
#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "tuner/commands/described_device.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/cover/size_sample.h"

namespace mmtune {
namespace {

constexpr std::size_t kSizes = 2000;  // the number of sizes that a range is looked at in
constexpr std::uint64_t kSeed = 1;    // the seed of these sizes

struct SuggestOptions : Options {
  std::string sizes;
  int count = 16;
};

Table suggestions_table(const std::vector<Suggestion>& suggestions) {
  Table table({left("precision"), left("layout"), right("m"), right("n"), right("k"), left("match"),
               right("expected_us"), right("loss"), right("gain")});
  for (const Suggestion& each : suggestions) {
    const Problem& problem = each.problem;
    table.add({to_string(problem.precision), to_string(problem.layout), problem.m, problem.n, problem.k,
               to_string(each.match), Cell(each.expected_us, 2), Cell(each.loss, 3), Cell(each.gain, 4)});
  }
  return table;
}

ExitCode run_suggest(const SuggestOptions& options) {
  const auto calls = SizeDistribution::parse(options.sizes).spread(kSizes, kSeed);
  const auto asked = asked_problems(calls, options.precisions, options.layouts);
  const DeviceSpec device = described_device(options).spec;
  Store store = Store::open(database_path(options), OpenMode::read_only);
  const StoredKernels kernels = load_kernels(store, device, template_files());
  const auto suggestions = suggest(device, kernels, asked, static_cast<std::size_t>(options.count));
  if (suggestions.empty()) log::warning("all of these sizes are tuned for {}", device.name);
  print(suggestions_table(suggestions), options);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_suggest() {
  auto options = std::make_shared<SuggestOptions>();
  Verb verb{.name = "suggest",
            .group = VerbGroup::results,
            .help = "Name the sizes whose tuning would lower the expected loss most",
            .examples = {"mmtune suggest --device 0 --sizes 48..8192",
                         "mmtune suggest --sizes @calls.csv --count 5 --format csv > next.csv"},
            .run = [options] { return run_suggest(*options); }};
  verb.add("Problems", {sizes_option(options->sizes), device_option(*options)});
  verb.options.front().help = SizeDistribution::kNotation;
  verb.add("Problems", problem_options(*options));
  verb.add("Problems",
           {{"--count", "NUMBER", "at most so many sizes, 1 to 1000", number_target(options->count, 1, 1000)},
            database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
