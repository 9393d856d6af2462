// mmtune refresh: decisions that are stale are made again among the fastest candidates that are stored.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "db/store.h"
#include "runtime/log.h"
#include "tuner/commands/commands.h"
#include "tuner/commands/options.h"
#include "tuner/commands/winners.h"
#include "tuner/devices/device_choice.h"
#include "tuner/text/text.h"
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
  RowFilter filter;
  filter.device = key_of(device.spec);
  filter.evidence = evidence_of(device);
  auto winners = Store::open(database_path(options), OpenMode::read_only).winners(filter);
  std::erase_if(winners, [&](const Winner& winner) {
    const Problem& problem = winner.trial.key.problem;
    return !is_wanted(options.precisions, problem.precision) || !is_wanted(options.layouts, problem.layout);
  });
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

void print_again(const Stock& stock, const RefreshOptions& options, const DeviceChoice& device) {
  auto store = Store::open(database_path(options), OpenMode::read_only);
  std::vector<Winner> winners;
  for (const Winner& before : stock.to_refresh) {
    auto now = store.find_winner(key_of(device.spec), before.trial.key.problem, evidence_of(device));
    if (now) winners.push_back(*std::move(now));
  }
  print(winners_table(winners, states_of(winners, ""), options.format), options.format, options.color);
}

ExitCode refresh(const RefreshOptions& options) {
  const auto device = choose_device(options.device);
  const Stock stock = take_stock(options, device);
  SessionSummary summary;
  if (!options.dry_run && !stock.to_refresh.empty()) {
    auto session = options.session;
    session.devices = {device};
    session.database = database_path(options);
    session.refresh = true;
    for (const Winner& winner : stock.to_refresh) session.problems.push_back(winner.trial.key.problem);
    summary = run_session(session);
  }
  print_again(stock, options, device);
  log::write(log::Level::warning, fmt::format("{} of {} refreshed, {} failed; {} are current, {} wrong", summary.tuned,
                                              stock.to_refresh.size(), summary.failed, stock.current, stock.wrong));
  if (summary.interrupted) return ExitCode::interrupted;
  return summary.failed + stock.wrong > 0 ? ExitCode::no_candidate : ExitCode::done;
}

}  // namespace

void add_refresh(CLI::App& app, Action& action) {
  auto options = std::make_shared<RefreshOptions>();
  options->precisions.clear();
  options->layouts.clear();
  auto& verb = *app.add_subcommand("refresh", "Time the five fastest kernels of every stale size again");
  add_device_option(verb, *options);
  add_problem_options(verb, *options);
  verb.add_flag("--all", options->all, "also sizes whose decision is current");
  verb.add_flag("--deterministic", options->session.deterministic,
                "only kernels that give the same bits every time may win");
  verb.add_flag("--dry-run", options->dry_run, "print what would be timed again and stop");
  add_database_option(verb, *options);
  add_output_options(verb, *options);
  add_log_options(verb);
  verb.callback([options, &action] { action = [options] { return refresh(*options); }; });
}

}  // namespace mmtune
