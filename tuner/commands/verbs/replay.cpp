// mmtune replay: how well a search does on measurements that another program made.
#include <memory>

#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/replay/search_curve.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

struct ReplayOptions : Options {
  std::string cache;
  std::vector<std::string> strategies{"guided", "random"};
  std::vector<std::uint64_t> seeds;  ///< 1 to 50
  int evaluations = 200;
};

std::vector<std::string> parse_strategies(const std::string& text) {
  std::vector<std::string> names;
  for (const auto name : split(text, ',')) names.emplace_back(name);
  return names;
}

ExitCode replay_cache(const ReplayOptions& options) {
  const MeasuredSpace space = read_measured_space(options.cache);
  std::vector<CurvePoint> points;
  for (const std::string& strategy : options.strategies) {
    for (const std::uint64_t seed : options.seeds) {
      for (CurvePoint& point : search_curve(space, strategy, seed, options.evaluations)) {
        points.push_back(std::move(point));
      }
    }
  }
  print(
      is_for_programs(options.format) ? curve_points_table(space.name(), points) : curve_summary(space.name(), points),
      options);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_replay() {
  constexpr std::string_view kSeeds = "1..50";
  auto options = std::make_shared<ReplayOptions>();
  options->seeds = parse_seeds(kSeeds);
  Verb verb{.name = "replay",
            .group = VerbGroup::tuning,
            .help = "Let a search run on measurements of another autotuner, and say how soon it finds the best",
            .examples = {"mmtune replay --cache RTX_3090.json.gz --seeds 1..50 --format csv"},
            .run = [options] { return replay_cache(*options); }};
  verb.add("Options",
           {required({"--cache", "FILE", "a cache of Kernel Tuner or results in the T4 format; gzip is undone",
                      file_target(options->cache)}),
            {"--strategy", "LIST", "strategies to compare, separated by commas",
             parsed_target(options->strategies, parse_strategies, "guided,random")},
            {"--seeds", "LIST", "search once with each: 1..5, or 1,2,9",
             parsed_target(options->seeds, parse_seeds, std::string(kSeeds))},
            {"--evaluations", "NUMBER", "candidates that a search may try, failed ones too",
             number_target(options->evaluations, 1, 100000)}});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
