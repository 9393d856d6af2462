// mmtune cover: few kernels for all sizes that an application may ask for.
#include "tuner/cover/cover.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "runtime/base/log.h"
#include "templates/base/parsed_number.h"
#include "tuner/commands/search_options.h"
#include "tuner/commands/shard_option.h"
#include "tuner/commands/verb.h"
#include "tuner/cover/size_sample.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

constexpr double kSampleTime_s = 2.4;  // the time for a sample: some fifty candidates on a machine of 16 cores
constexpr std::size_t kFewestSamples = 32;
constexpr std::size_t kMostSamples = 256;
constexpr std::size_t kFurther = 16;  // the sizes for each sample: measuring is fast where nothing is compiled
constexpr std::size_t kSpare = 2048;  // as many as tell where every compiled kernel is of most use

struct CoverVerbOptions : SearchOptions {
  int kernels = static_cast<int>(CoverOptions{}.most_kernels);
  int samples = 0;  ///< 0: see samples_of()
  double loss_percent = 0;
  std::optional<Share> shard;  ///< the share that was asked for; nothing: that of the environment
};

double parse_percent(std::string_view text) {
  const auto percent = parsed_number<double>(text);
  if (!percent || !(*percent >= 0 && *percent <= 100)) {
    throw UsageError(fmt::format("--loss '{}': write a number from 0 to 100, for example 1 or 0.5", text));
  }
  return *percent;
}

std::string align_text(const Alignment& align) { return fmt::format("a{}b{}c{}", align.a, align.b, align.c); }

Table kernels_table(const std::vector<CoveringKernel>& kernels) {
  Table table({left("precision", Fit::shared), left("layout", Fit::shared), left("align"), left("family"),
               left("config", Fit::wraps), right("sizes")});
  for (const CoveringKernel& kernel : kernels) {
    table.add({to_string(kernel.precision), to_string(kernel.layout), align_text(kernel.align), kernel.family,
               kernel.config, kernel.sizes});
  }
  return table;
}

/// Many sizes that are searched shortly teach more than few that are searched long.
std::size_t samples_of(const CoverVerbOptions& options) {
  if (options.samples > 0) return static_cast<std::size_t>(options.samples);
  const double budget_s = options.session.budget_s;
  if (budget_s == 0) return kMostSamples;
  return std::clamp(static_cast<std::size_t>(budget_s / kSampleTime_s), kFewestSamples, kMostSamples);
}

void say_unsearched(const SessionOptions& session, const std::vector<Problem>& left, std::size_t sizes) {
  if (left.empty()) return;
  log::warning(
      "--budget {:.0f}s: {} of {} sizes were not searched in that time; the same command goes on with them, or give "
      "more time",
      session.budget_s, left.size(), sizes);
}

/// Kernels are chosen when the sizes of all shares are searched.
ExitCode run_share(const CoverOptions& options, int shares) {
  const SessionSummary summary = search_share(options, shares);
  if (summary.interrupted) return interrupted();
  say_unsearched(options.session, summary.left, options.session.problems.size());
  log::warning("{} searched; merge the databases of all shares, and run this command with --shard none on them",
               counted(static_cast<std::int64_t>(options.session.problems.size() - summary.left.size()), "size"));
  return summary.failed > 0 ? ExitCode::no_candidate : ExitCode::done;
}

/// Says nothing of losses where no size has any.
void say_losses(const SessionOptions& session, const CoverSummary& summary) {
  const Losses& sample = summary.sample;
  if (sample.sizes > 0) {
    log::warning(
        "{}: {} kernels for {} sizes, {:.1f} % slower than the fastest of all candidates on average, {:.1f} % at worst",
        to_string(evidence_of(session.devices.front())), summary.programs, sample.sizes, 100 * sample.mean,
        100 * sample.worst);
  }
  if (summary.useful.measured > 0) {
    log::warning("spare sizes: {} programs are kept for them alone, by {} kernels measured there in {:.1f} s",
                 summary.useful.chosen, summary.useful.measured, summary.useful_s);
  }
  const Losses& held_out = summary.held_out;
  if (held_out.sizes > 0) {
    log::warning(
        "other sizes: expected to be {:.1f} % slower than if tuned on average, {:.1f} % at worst ({} sizes held out)",
        100 * held_out.mean, 100 * held_out.worst, held_out.sizes);
  }
}

ExitCode run_cover(const CoverVerbOptions& options) {
  const std::size_t samples = samples_of(options);
  const std::size_t measured = (1 + kFurther) * samples;
  const auto calls = SizeDistribution::parse(options.sizes).spread(measured + kSpare, options.session.seed);
  const auto asked = [&](std::size_t first, std::size_t end) {
    const auto at = [&](std::size_t i) {
      return calls.begin() + static_cast<std::ptrdiff_t>(std::min(i, calls.size()));
    };
    std::vector<AskedProblem> problems = asked_problems({at(first), at(end)}, options.precisions, options.layouts);
    for (AskedProblem& each : problems) {
      each.problem.invariant = options.invariant;
      each.problem = sampled_problem(each.problem);
    }
    return problems;
  };
  CoverOptions cover_options;
  cover_options.sample = asked(0, samples);
  cover_options.further = asked(samples, measured);
  cover_options.spare = asked(measured, calls.size());
  cover_options.session = plan(options, problems_of(cover_options.sample));
  if (models_of(cover_options.session.devices).size() > 1) {
    throw UsageError(fmt::format("--device '{}': cover works for one GPU model at a time", options.device));
  }
  cover_options.most_kernels = static_cast<std::size_t>(options.kernels);
  cover_options.loss = options.loss_percent / 100;
  const Share share = take_share(cover_options.session, options.shard);
  if (share.count > 1) return run_share(cover_options, share.count);
  const CoverSummary summary = cover(cover_options);
  if (summary.interrupted) return interrupted();
  say_unsearched(cover_options.session, summary.unsearched, cover_options.sample.size());
  print(kernels_table(summary.kernels), options);
  say_losses(cover_options.session, summary);
  return summary.kernels.empty() ? ExitCode::no_candidate : ExitCode::done;
}

}  // namespace

Verb mmtune_verb_cover() {
  auto options = std::make_shared<CoverVerbOptions>();
  Verb verb{.name = "cover",
            .group = VerbGroup::tuning,
            .help = "Find few kernels that serve all sizes of a range or list",
            .examples = {"mmtune cover --device 0 --sizes 48..8192 --budget 10m",
                         "mmtune cover --device 0 --sizes 1..64x1024..8192x1024..8192 --kernels 16 --loss 2",
                         "mmtune cover --device 0 --sizes 48..8192 --budget 2h --shard 3/16 --db shard-3.db"},
            .run = [options] { return run_cover(*options); }};
  add_search_options(verb, *options);
  verb.options.front().help = SizeDistribution::kNotation;
  verb.add("Fleet", {shard_option(options->shard)});
  verb.add("Cover",
           {{"--kernels", "NUMBER", "at most so many kernels, 1 to 1000; those of one program count once",
             number_target(options->kernels, 1, 1000)},
            {"--loss", "PERCENT",
             "fewer kernels if they are at most so much slower than the fastest on average (default: 0)",
             parsed_target(options->loss_percent, parse_percent)},
            {"--samples", "NUMBER",
             "sizes that are searched to find them, 1 to 10000 (default: one for 2.4 s of the budget, 32 to 256)",
             number_target(options->samples, 1, 10000)},
            database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
