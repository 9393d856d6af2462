// mmtune doctor: what mmtune needs, whether it is there, where, and what to do if not.
#include <fmt/format.h>
#include <mmtune/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "db/store.h"
#include "runtime/base/env.h"
#include "runtime/gpu/device_query.h"
#include "runtime/gpu/driver.h"
#include "runtime/gpu/nvrtc.h"
#include "tuner/commands/options.h"
#include "tuner/commands/verb.h"
#include "tuner/text/text.h"
#include "tuner/version.h"

namespace mmtune {
namespace {

/// Whether there is a driver to ask for GPUs.
bool examine_driver(Table& table) {
  try {
    const auto& library = cuda().library;
    const auto version = driver_version();
    table.add(
        {"driver", "found",
         version.release.empty() ? version.cuda : fmt::format("{} (CUDA {})", version.release, version.cuda), library},
        Tone::good);
    return true;
  } catch (const DeviceError& error) {
    table.add({"driver", "missing", "", error.what()}, Tone::caution);
    return false;
  }
}

void examine_gpus(Table& table) {
  try {
    const int count = gpu_count();
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      const auto gpu = query_device(ordinal);
      table.add({fmt::format("GPU {}", ordinal), "found", fmt::format("sm_{}", compute_capability(gpu)),
                 fmt::format("{}, {} SMs, {} MiB", gpu.name, gpu.sm_count, gpu.memory_bytes / (1 << 20))},
                Tone::good);
    }
    if (count > 0) return;
  } catch (const DeviceError& error) {
    table.add({"GPU", "failed", "", error.what()}, Tone::bad);
    return;
  }
  table.add({"GPU", "missing", "", "nothing can be measured; --device model:NAME predicts (see mmtune devices)"},
            Tone::caution);
}

bool examine_nvrtc(Table& table) {
  try {
    const auto nvrtc = Nvrtc::load();
    const auto& targets = nvrtc.supported();
    const auto range = targets.empty() ? "" : fmt::format(", sm_{} to sm_{}", targets.front(), targets.back());
    table.add({"NVRTC", "found", nvrtc.version(), nvrtc.path() + range}, Tone::good);
    return true;
  } catch (const DeviceError& error) {
    table.add({"NVRTC", "missing", "", error.what()}, Tone::bad);
    return false;
  }
}

/// Adds whether the first tuning can create the database.
bool examine_place(Table& table, const std::string& path) {
  auto folder = std::filesystem::absolute(path).parent_path();
  while (!std::filesystem::exists(folder)) folder = folder.parent_path();
  if (access((folder / "").c_str(), W_OK | X_OK) == 0) {
    table.add({"database", "absent", "", path + ": the first tuning creates it"}, Tone::plain);
    return true;
  }
  table.add({"database", "unusable", "",
             fmt::format("{} cannot be created in {}: {}; get permission, or name another place with --db or MMTUNE_DB",
                         path, folder.string(), std::strerror(errno))},
            Tone::bad);
  return false;
}

/// Adds the state of the database; false where it cannot be used.
bool examine_database(Table& table, const Options& options) {
  try {
    const auto path = database_path(options);
    if (!database_exists(path)) return examine_place(table, path);
    const auto report = Store::open(path, OpenMode::read_only).check();
    if (report.faults.empty()) {
      table.add({"database", "found",
                 fmt::format("{}, {}", counted(report.winners, "size"), counted(report.trials, "trial")), path},
                Tone::good);
      return true;
    }
    table.add({"database", "damaged", "", fmt::format("{}: {}; see mmtune db check", path, report.faults.front())},
              Tone::bad);
  } catch (const DatabaseError& error) {
    table.add({"database", "unusable", "", error.what()}, Tone::bad);
  }
  return false;
}

void list_switches(Table& table) {
  for (const auto& item : env::switches()) {
    if (!item.name.starts_with("MMTUNE_")) continue;
    if (const auto value = env::get(item.name)) table.add({std::string(item.name), "set", "", *value}, Tone::plain);
  }
}

ExitCode doctor(const Options& options) {
  Table table({left("part"), left("status"), left("version"), left("detail", Fit::wraps)});
  table.add({"mmtune", "found", fmt::format("{} ({})", build_version(), build_commit()), ""}, Tone::good);
  if (examine_driver(table)) {
    examine_gpus(table);
  } else {
    table.add({"GPU", "unknown", "", "needs a driver; without, --device model:NAME predicts (see mmtune devices)"},
              Tone::caution);
  }
  const bool can_compile = examine_nvrtc(table);
  table.add({"CUDA headers", "not needed", "", "kernels include none; only building mmtune needs them"}, Tone::plain);
  const bool is_database_usable = examine_database(table, options);
  list_switches(table);
  print(table, options);
  if (!can_compile) return ExitCode::no_device;
  return is_database_usable ? ExitCode::done : ExitCode::database;
}

}  // namespace

Verb mmtune_verb_doctor() {
  auto options = std::make_shared<Options>();
  Verb verb{.name = "doctor",
            .group = VerbGroup::inspection,
            .help = "Say what is installed, where, and what is missing",
            .examples = {"mmtune doctor", "mmtune doctor --db /data/mmtune.db --format json"},
            .run = [options] { return doctor(*options); }};
  verb.add("Options", {database_option(*options)});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
