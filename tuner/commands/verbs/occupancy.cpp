// mmtune occupancy: how many blocks of a kernel an SM holds, what stops more, and what would raise it.
#include <mmtune/error.h>

#include <memory>
#include <optional>

#include "db/store.h"
#include "runtime/base/log.h"
#include "templates/family/families.h"
#include "tuner/commands/described_device.h"
#include "tuner/commands/search_options.h"
#include "tuner/commands/selection.h"
#include "tuner/commands/verb.h"
#include "tuner/inspect/block_use.h"
#include "tuner/inspect/local_compiler.h"
#include "tuner/text/files.h"

namespace mmtune {
namespace {

constexpr int kMostThreads = 1 << 16, kMostRegisters = 1 << 10, kMostSmemBytes = 1 << 30;
const std::string kAnySize = "1024";  // the size where none is named: occupancy depends on it for no kernel

struct OccupancyOptions : Options {
  std::string family;
  std::string config;
  std::string sizes;
  std::string svg;
  bool best = false;
  bool curves = false;
  bool force = false;
  int threads = 0;
  int registers = 32;
  int smem_bytes = 0;
};

/// Throws UsageError unless exactly one of the three ways to name a block was used, and what is asked for goes
/// together.
void check_ways(const OccupancyOptions& options) {
  const int ways = (options.family.empty() ? 0 : 1) + (options.best ? 1 : 0) + (options.threads > 0 ? 1 : 0);
  if (ways != 1) {
    throw UsageError(
        "occupancy: name what it is of with one of --threads (and --registers, --smem), --family (and --config), "
        "--best");
  }
  if (options.curves && is_for_programs(options.format)) {
    throw UsageError(
        "--curves: drawn below a table, and no csv or json; leave out --format, or draw them with --svg FILE");
  }
  if (options.best && options.sizes.empty()) throw UsageError("--best: say which sizes' winners, with --sizes");
}

/// The decision for the problem on the first of the devices that has one.
std::optional<Winner> winner_of(Store& store, const Problem& problem, const std::vector<DeviceChoice>& devices) {
  for (const DeviceChoice& device : devices) {
    for (const Evidence evidence : {Evidence::measured, Evidence::predicted}) {
      if (auto winner = store.find_winner({key_of(device.spec), problem, evidence})) return winner;
    }
  }
  return std::nullopt;
}

struct Kernel {
  Problem problem;
  const Family* family;
  Config config;
};

/// What is asked about; a size without a winner is reported.
std::vector<Kernel> kernels_of(const OccupancyOptions& options, const std::vector<DeviceChoice>& devices) {
  std::vector<Kernel> kernels;
  const auto problems = named_problems(options.sizes.empty() ? kAnySize : options.sizes, options);
  if (!options.best) {
    const Family& family = family_named(options.family);
    for (const Problem& problem : problems) kernels.push_back({problem, &family, family.parse(options.config)});
    return kernels;
  }
  Store store = Store::open(database_path(options), OpenMode::read_only);
  for (const Problem& problem : problems) {
    const auto winner = winner_of(store, problem, devices);
    const Family* family = winner ? find_family(winner->trial.key.family) : nullptr;
    if (family != nullptr) {
      kernels.push_back({problem, family, Config::parse(winner->trial.key.config)});
    } else {
      log::error("{}: no winner in {}; run mmtune tune {}", to_string(problem), store.path(),
                 tune_options(devices.front(), options, problem));
    }
  }
  return kernels;
}

/// One kernel on one device; nothing, with the reason on stderr, where it cannot run there.
std::optional<BlockUse> use_of(const Kernel& kernel, LocalCompiler& compiler) {
  try {
    return block_use_of(compiler.program(*kernel.family, kernel.config, kernel.problem), compiler.device());
  } catch (const UsageError& error) {
    log::error("{}: {}", compiler.device().name, error.what());
    return std::nullopt;
  }
}

std::vector<BlockUse> uses_of(const OccupancyOptions& options, const std::vector<DeviceChoice>& devices) {
  std::vector<BlockUse> uses;
  if (options.threads > 0) {
    for (const DeviceChoice& device : devices) {
      uses.push_back({device.spec, {options.threads, options.registers, options.smem_bytes}});
    }
    return uses;
  }
  const auto kernels = kernels_of(options, devices);
  const auto nvrtc = nvrtc_if_installed();
  std::vector<LocalCompiler> compilers;
  for (const DeviceChoice& device : devices) {
    compilers.emplace_back(device.spec, evidence_of(device), nvrtc ? &*nvrtc : nullptr);
  }
  for (const Kernel& kernel : kernels) {
    for (LocalCompiler& compiler : compilers) {
      if (auto use = use_of(kernel, compiler)) uses.push_back(std::move(*use));
    }
  }
  return uses;
}

ExitCode show_occupancy(const OccupancyOptions& options) {
  check_ways(options);
  if (!options.svg.empty()) check_writable(options.svg, options.force);
  const auto devices = described_devices(options);
  const auto uses = uses_of(options, devices);
  print(occupancy_table(uses, options.format), options);
  if (options.curves) {
    constexpr int kColumns = 79, kLines = 13;
    for (const Chart& chart : occupancy_charts(uses)) print_out("\n" + text_chart(chart, kColumns, kLines));
  }
  if (!options.svg.empty()) write_text_file(options.svg, svg_of(occupancy_charts(uses)), options.force);
  return uses.empty() ? ExitCode::no_candidate : ExitCode::done;
}

}  // namespace

Verb mmtune_verb_occupancy() {
  auto options = std::make_shared<OccupancyOptions>();
  Verb verb{
      .name = "occupancy",
      .group = VerbGroup::inspection,
      .help = "Blocks of a kernel that an SM holds, what stops more, and what would raise it",
      .examples = {"mmtune occupancy --threads 256 --registers 11 --smem 3072 --device model:gt740m --curves",
                   "mmtune occupancy --family tiled --config \"TILE=32\" --sizes 4096 --device model:h200,model:t4",
                   "mmtune occupancy --best --sizes 256..8192 --format csv"},
      .run = [options] { return show_occupancy(*options); }};
  verb.add("A block",
           {{"--threads", "NUMBER", "threads of a block by itself", number_target(options->threads, 1, kMostThreads)},
            only_with("--threads", {"--registers", "NUMBER", "its registers per thread",
                                    number_target(options->registers, 0, kMostRegisters)}),
            only_with("--threads", {"--smem", "BYTES", "its shared memory, static and dynamic",
                                    number_target(options->smem_bytes, 0, kMostSmemBytes)})});
  verb.add("A kernel", kernel_options(options->family, options->config, "a kernel family, with --config"));
  verb.add("A kernel",
           {flag_option("--best", "the stored winners of --sizes", options->best), database_option(*options)});
  verb.add("Problems", {selected_sizes_option(options->sizes),
                        {"--device", "LIST", "auto, numbers of GPUs and model:NAME with commas, or all",
                         device_target(options->device)}});
  verb.add("Problems", problem_options(*options));
  verb.add("Curves", {flag_option("--curves", "draw active warps against block size, registers and shared memory",
                                  options->curves),
                      {"--svg", "FILE", "write these curves to a file", file_target(options->svg)},
                      only_with("--svg", flag_option("--force", "overwrite a file that is there", options->force))});
  add_output_options(verb, *options);
  return verb;
}

}  // namespace mmtune
