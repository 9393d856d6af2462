// mmtune study: every table of the source documents on this GPU, with the published figures beside it.
#include "tuner/documents/study.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "runtime/base/log.h"
#include "runtime/base/template_files.h"
#include "runtime/gpu/driver.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/verb.h"
#include "tuner/documents/study_file.h"
#include "tuner/documents/study_table.h"
#include "tuner/text/files.h"
#include "tuner/text/progress.h"
#include "tuner/workers/gpu_lock.h"
#include "tuner/workers/installed_gpus.h"
#include "tuner/workers/interrupt.h"

namespace mmtune {
namespace {

struct StudyOptions : Options {
  std::string document = "all";
  std::string output;
  std::string svg;
  int host_through = 1024;
  double longest_s = 60;
  double wait_s = 0;  ///< the argument of GpuLock
  bool force = false;
};

std::vector<std::string> document_names() {
  std::vector<std::string> names;
  for (const StudyDocument& each : study_documents()) names.emplace_back(each.name);
  return names;
}

std::vector<std::string> chosen_documents(const StudyOptions& options) {
  return options.document == "all" ? document_names() : std::vector{options.document};
}

/// What was tuned for the device; empty without a database.
DispatchTable tuned_kernels(const StudyOptions& options, const DeviceSpec& device) {
  auto store = stored_results(options);
  return {device, store ? load_kernels(*store, device, template_files()) : StoredKernels{}};
}

/// Case after case, those of the file without a run, until interrupted.
std::vector<StudyResult> run_cases(const std::vector<StudyCase>& cases, Study& study, StudyFile* file,
                                   const std::string& gpu) {
  std::vector<StudyResult> results;
  Progress progress;
  for (const StudyCase& each : cases) {
    if (InterruptGuard::requested()) break;
    progress.update(ProgressState::of(std::ssize(results), std::ssize(cases)),
                    fmt::format("{} {} {} {}", each.document, each.table, each.row, each.column));
    auto known = file != nullptr ? file->find(each, gpu) : std::nullopt;
    results.push_back(known ? std::move(*known) : study.run(each));
    if (file != nullptr && !known) file->add(results.back());
  }
  return results;
}

void print_document(const std::string& document, const std::vector<StudyResult>& results, const StudyOptions& options,
                    const DeviceSpec& device) {
  auto tables = study_layout(results, document);
  for (auto& analysis : study_analyses(document, device)) tables.push_back(std::move(analysis));
  for (const auto& [heading, table] : tables) {
    print_out(fmt::format("{}; here: {}\n\n", heading, device.name));
    print(table, options);
    print_out("\n");
  }
  if (const auto conclusion = study_conclusion(results, document); !conclusion.empty()) {
    print_out(fmt::format("{}: {}\n\n", document, conclusion));
  }
}

void report(const std::vector<StudyResult>& results, const StudyOptions& options, const DeviceSpec& device) {
  if (is_for_programs(options.format)) {
    print(study_rows(results), options);
    return;
  }
  for (const auto& document : chosen_documents(options)) print_document(document, results, options, device);
  print_out("times in ms; *: extrapolated from a smaller problem by the number of operations\n");
}

ExitCode study(const StudyOptions& options) {
  if (!options.svg.empty()) check_writable(options.svg, options.force);
  const auto device = choose_device(options.device);
  const bool is_model = device.ordinal < 0;
  const InterruptGuard interrupts;
  std::optional<GpuLock> lock;
  std::optional<Gpu> gpu;
  if (!is_model) {
    lock = GpuLock::wait(device, options.wait_s);
    if (!lock) return ExitCode::interrupted;
    gpu.emplace(device.ordinal);
  }
  const auto nvrtc = is_model ? nvrtc_if_installed() : std::optional(Nvrtc::load());
  std::vector<StudyCase> cases;
  for (const auto& document : chosen_documents(options)) {
    for (StudyCase& each : study_cases(document)) cases.push_back(std::move(each));
  }
  std::optional<StudyFile> file;
  if (!options.output.empty()) file.emplace(options.output);
  Study runs(device, nvrtc ? &*nvrtc : nullptr, tuned_kernels(options, device.spec),
             {.host_through = options.host_through, .longest_s = options.longest_s});
  const auto results = run_cases(cases, runs, file ? &*file : nullptr, device.spec.name);
  report(results, options, device.spec);
  if (!options.svg.empty()) {
    std::vector<Chart> charts;
    for (const auto& document : chosen_documents(options)) {
      for (Chart& chart : study_charts(results, document)) charts.push_back(std::move(chart));
    }
    write_text_file(options.svg, svg_of(charts), options.force);
  }
  bool failed = false;
  for (const StudyResult& each : results) {
    if (each.kernel_ms > 0) continue;
    failed = true;
    log::error("{} {} {} {}: {}", each.what.document, each.what.table, each.what.row, each.what.column, each.note);
  }
  if (results.size() < cases.size()) return ExitCode::interrupted;
  return failed ? ExitCode::no_candidate : ExitCode::done;
}

}  // namespace

Verb mmtune_verb_study() {
  auto options = std::make_shared<StudyOptions>();
  Verb verb{.name = "study",
            .group = VerbGroup::results,
            .help = "Repeat the measurements of the source documents, published figures beside those found here",
            .examples = {"mmtune study s1 --device model:gt740m", "mmtune study s4",
                         "mmtune study all --device 0 --output study.csv --svg study.svg"},
            .run = [options] { return study(*options); }};
  auto documents = document_names();
  documents.emplace_back("all");
  verb.add(
      "Options",
      {{"document", "DOCUMENT", "the source document", choice_target(options->document, documents)},
       device_option(*options),
       {"--cpu-through", "N", "the largest size for which loops on the host run; beyond, their time is extrapolated",
        number_target(options->host_through, 16, 1 << 20)},
       {"--longest", "TIME", "kernels that take longer are extrapolated from a quarter of the size: 60s, 5m",
        duration_target(options->longest_s)},
       {"--output", "FILE", "a CSV file that gets each row when it is known; rows that it has are not measured again",
        file_target(options->output)},
       {"--svg", "FILE", "write the documents' charts to a file", file_target(options->svg)},
       only_with("--svg", flag_option("--force", "overwrite the charts of an earlier run", options->force)),
       wait_option(options->wait_s),
       database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
