// mmtune report: results as one file that a browser shows without a network.
#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "db/store.h"
#include "runtime/base/log.h"
#include "runtime/call/databases.h"
#include "tuner/commands/options.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/verb.h"
#include "tuner/commands/winners.h"
#include "tuner/report/content.h"
#include "tuner/report/page.h"
#include "tuner/text/files.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {
namespace {

struct ReportOptions : Options {
  std::string output;
  bool force = false;
  std::vector<std::string> benchmarks;
  std::vector<std::string> studies;
};

/// The GPU whose name contains `part`; the only one of the report where that is empty.
const DeviceKey& device_of(const std::string& file, std::string_view part, const std::vector<DeviceKey>& devices) {
  const DeviceKey* found = nullptr;
  for (const DeviceKey& device : devices) {
    if (!contains_in_any_case(device.name, part)) continue;
    if (found != nullptr) {
      throw UsageError(
          fmt::format("'{}': the report has several GPUs; say which one was measured: h200={}", file, file));
    }
    found = &device;
  }
  if (found == nullptr) {
    throw UsageError(fmt::format("'{}': no GPU of the report is called '{}'; mmtune show lists them", file, part));
  }
  return *found;
}

/// "FILE" or "GPU=FILE". A benchmark or study is told from any other file by what all of them have.
ReportFile file_of(const std::string& kind, const std::string& text, const std::vector<DeviceKey>& devices) {
  const std::size_t equals = text.find('=');
  const bool names_gpu = equals != std::string::npos && text.find('/') > equals;
  const std::string path = names_gpu ? text.substr(equals + 1) : text;
  const std::string part = names_gpu ? text.substr(0, equals) : "";
  ReportFile file{kind, std::filesystem::path(path).stem().string(), device_of(path, part, devices),
                  read_text_file(path, fmt::format("'{}'", path))};
  const std::string header = file.text.substr(0, file.text.find('\n'));
  const auto lacks = [&](std::string_view columns) { return header.find(columns) == std::string::npos; };
  if (kind == "bench" && lacks(",m,n,k,mmtune_us,")) {
    throw UsageError(fmt::format(
        "'{}' is no result of mmtune bench: it has no column mmtune_us; write one with --format csv", path));
  }
  if (kind == "study" && lacks("document,table,row,column,")) {
    throw UsageError(
        fmt::format("'{}' is no result of mmtune study: it has no column document; write one with --output", path));
  }
  return file;
}

std::vector<DeviceKey> devices_of(const ReportContent& content) {
  std::vector<DeviceKey> devices;
  for (const Trial& trial : content.trials) {
    const DeviceKey& device = trial.key.device;
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
  }
  return devices;
}

ReportContent content_of(const ReportOptions& options) {
  ReportContent content;
  const std::string path = database_path(options);
  Store store = Store::open(path, OpenMode::read_only);
  content.database = std::filesystem::path(path).filename().string();
  content.winners = store.winners();
  std::erase_if(content.winners, [&](const Winner& winner) { return !is_selected(winner.trial.key, options); });
  content.winners = best_evidence(std::move(content.winners));
  content.states = states_of(content.winners, installed_compiler());
  content.trials = store.trials();
  std::erase_if(content.trials, [&](const Trial& trial) { return !is_selected(trial.key, options); });
  if (content.trials.empty()) {
    throw UsageError(fmt::format("{}: no results that match; run {} to get some", path,
                                 tune_command("256..8192", options.database)));
  }
  const std::vector<DeviceKey> devices = devices_of(content);
  for (const std::string& file : options.benchmarks) content.files.push_back(file_of("bench", file, devices));
  for (const std::string& file : options.studies) content.files.push_back(file_of("study", file, devices));
  return content;
}

ExitCode report(const ReportOptions& options) {
  check_report_page();
  check_writable(options.output, options.force);
  write_text_file(options.output, report_page(report_json(content_of(options))), options.force);
  log::warning("{}: written; open it with a browser", options.output);
  return ExitCode::done;
}

}  // namespace

Verb mmtune_verb_report() {
  auto options = std::make_shared<ReportOptions>();
  Verb verb{
      .name = "report",
      .group = VerbGroup::results,
      .help = "Write charts and tables of all results as one HTML file",
      .examples = {"mmtune report -o report.html",
                   "mmtune report -o h200.html --device h200 --bench bench/results/nvidia-h200/fp32_vs_cublas.csv"},
      .run = [options] { return report(*options); }};
  verb.add("Options", {required({"-o,--output", "FILE", "the file to write", file_target(options->output)}),
                       flag_option("--force", "overwrite the file if it exists", options->force),
                       {.names = "--bench",
                        .value = "FILE",
                        .help = "a result of mmtune bench (csv), for cuBLAS's line; GPU=FILE where there are several",
                        .target = texts_target(options->benchmarks),
                        .repeatable = true},
                       {.names = "--study",
                        .value = "FILE",
                        .help = "a result of a study (csv); GPU=FILE where there are several",
                        .target = texts_target(options->studies),
                        .repeatable = true}});
  verb.add("Options", selection_options(*options));
  verb.add("Options", {database_option(*options)});
  add_log_options(verb);
  return verb;
}

}  // namespace mmtune
