// mmtune refresh: decisions that are stale are made again among the fastest candidates that are stored.

#include <memory>

#include "db/store.h"
#include "runtime/base/log.h"
#include "tuner/commands/described_device.h"
#include "tuner/commands/options.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/verb.h"
#include "tuner/commands/winners.h"
#include "tuner/tune/session.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {
namespace {

struct RefreshOptions : Options {
  bool all = false;
  bool dry_run = false;
  SessionOptions session;
};

/// The decisions for the GPU, sorted by what is to be done.
struct Stock {
  std::vector<Winner> to_refresh;
  int current = 0;
  int wrong = 0;
};

Stock take_stock(const RefreshOptions& options, const DeviceChoice& device) {
  auto winners = Store::open(database_path(options), OpenMode::read_only)
                     .winners({.device = key_of(device.spec), .evidence = evidence_of(device)});
  std::erase_if(winners, [&](const Winner& winner) { return !is_selected(winner.trial.key.problem, options, {}); });
  const auto states = states_of(winners, installed_compiler());
  Stock stock;
  for (std::size_t i = 0; i < winners.size(); ++i) {
    const Validity validity = states[i].validity;
    stock.current += validity == Validity::current ? 1 : 0;
    stock.wrong += validity == Validity::wrong ? 1 : 0;
    if (validity == Validity::wrong) {
      log::warning("{}: not refreshed but to be tuned again: {}", to_string(winners[i].trial.key.problem),
                   states[i].reason);
    } else if (options.all || validity == Validity::stale) {
      stock.to_refresh.push_back(std::move(winners[i]));
    }
  }
  return stock;
}

void print_again(const Stock& stock, const RefreshOptions& options) {
  auto store = Store::open(database_path(options), OpenMode::read_only);
  std::vector<Winner> winners;
  for (const Winner& before : stock.to_refresh) {
    auto now = store.find_winner(before.trial.key.problem_key());
    if (now) winners.push_back(*std::move(now));
  }
  print(winners_table(winners, states_of(winners, ""), options), options);
}

ExitCode refresh(const RefreshOptions& options) {
  const auto device = described_device(options);
  if (device.ordinal < 0 && options.device == "auto") {
    log::warning("NO GPU: nothing is measured; only predicted times of {} are refreshed", device.spec.name);
  }
  const Stock stock = take_stock(options, device);
  SessionSummary summary;
  if (!options.dry_run && !stock.to_refresh.empty()) {
    auto session = options.session;
    session.devices = {device};
    session.database = database_path(options);
    session.mode = SessionMode::refresh();
    for (const Winner& winner : stock.to_refresh) session.problems.push_back(winner.trial.key.problem);
    summary = run_session(session);
  }
  print_again(stock, options);
  log::warning("{} of {} refreshed, {} failed; {} are current, {} wrong", summary.tuned, stock.to_refresh.size(),
               summary.failed, stock.current, stock.wrong);
  if (summary.interrupted) return ExitCode::interrupted;
  return summary.failed + stock.wrong > 0 ? ExitCode::no_candidate : ExitCode::done;
}

}  // namespace

Verb mmtune_verb_refresh() {
  auto options = std::make_shared<RefreshOptions>();
  Verb verb{.name = "refresh",
            .group = VerbGroup::tuning,
            .help = "Time the five fastest kernels of every stale size again",
            .examples = {"mmtune refresh --device 0", "mmtune refresh --device 0 --precision fp32 --all"},
            .run = [options] { return refresh(*options); }};
  verb.add("Problems", {device_option(*options)});
  verb.add("Problems", selected_problem_options(*options));
  verb.add("Options", {flag_option("--all", "also sizes whose decision is current", options->all),
                       flag_option("--deterministic", "only kernels that give the same bits every time may win",
                                   options->session.deterministic),
                       flag_option("--dry-run", "print what would be timed again and stop", options->dry_run),
                       wait_option(options->session.wait_s), database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
