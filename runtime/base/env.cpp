#include "runtime/base/env.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

namespace mmtune::env {
namespace {

constexpr std::array kSwitches{
    Switch{"MMTUNE_DB", "$XDG_DATA_HOME/mmtune/mmtune.db", "database of tuned kernels"},
    Switch{"MMTUNE_SYSTEM_DB", "mmtune-system.db beside the library",
           "database that the library reads after the user's, and never writes"},
    Switch{"MMTUNE_RECORD", "nothing", "file that the library adds the shapes of its calls to when it is closed"},
    Switch{"MMTUNE_CUBLAS_REPORT", "nothing",
           "file that the stand-in for cuBLAS adds its counts to when a program ends"},
    Switch{"NVIDIA_TF32_OVERRIDE", "", "of cuBLAS: if set, its stand-in leaves fp32 and tf32 to it"},
    Switch{"MMTUNE_NVRTC", "searched", "file of libnvrtc; no other is tried"},
    Switch{"MMTUNE_CUDA_PATH", "searched", "directory of the CUDA toolkit or of NVIDIA's pip packages' libraries"},
    Switch{"MMTUNE_TEMPLATE_DIR", "embedded", "source tree to read kernel templates from instead of the built-in ones"},
    Switch{"MMTUNE_DUMP", "nothing", "what NVRTC got and gave, to be written: any of src,ptx,log,cubin"},
    Switch{"MMTUNE_DUMP_DIR", ".", "directory that MMTUNE_DUMP writes to"},
    Switch{"MMTUNE_LOG", "warning", "lines on stderr: silent, error, warning, info or debug"},
    Switch{"MMTUNE_SHARDS", "", "how many shares the problems of `tune` have, where JOB_COMPLETION_INDEX says which"},
    Switch{"NO_COLOR", "", "if set, no colours on a terminal"},
    Switch{"COLUMNS", "those of the terminal", "how wide tables are, also in a pipe or a file"},
    Switch{"HOME", "", "where ~/.local/share is"},
    Switch{"XDG_DATA_HOME", "~/.local/share", "where the database is, if it is an absolute path"},
    Switch{"CUDA_HOME", "", "directory of the CUDA toolkit, after MMTUNE_CUDA_PATH"},
    Switch{"CUDA_PATH", "", "directory of the CUDA toolkit, after CUDA_HOME"},
    Switch{"JOB_COMPLETION_INDEX", "", "Kubernetes: which share of the problems `tune` takes, from 0"},
    Switch{"SLURM_ARRAY_TASK_ID", "", "Slurm: which share of the problems `tune` takes; with the next three"},
    Switch{"SLURM_ARRAY_TASK_COUNT", "", "Slurm: tasks of the array, and so shares"},
    Switch{"SLURM_ARRAY_TASK_MIN", "0", "Slurm: the first SLURM_ARRAY_TASK_ID"},
    Switch{"SLURM_ARRAY_TASK_STEP", "1", "Slurm: from one SLURM_ARRAY_TASK_ID to the next"},
    Switch{"SLURM_PROCID", "", "Slurm: which share of those of an array task, or of all, `tune` takes, from 0"},
    Switch{"SLURM_NTASKS", "1", "Slurm: tasks that `srun` has started, and so shares"},
    Switch{"SLURM_JOB_ID", "", "Slurm: with no SLURM_STEP_ID, SLURM_NTASKS counts tasks that are not started"},
    Switch{"SLURM_STEP_ID", "", "Slurm: set in what `srun` starts"},
};

#if defined(__aarch64__)
constexpr std::string_view kTargetDirectory = "targets/sbsa-linux/lib";
#else
constexpr std::string_view kTargetDirectory = "targets/x86_64-linux/lib";
#endif

}  // namespace

std::span<const Switch> switches() { return kSwitches; }

std::optional<std::string> get(std::string_view name) {
  const auto listed =
      std::find_if(kSwitches.begin(), kSwitches.end(), [name](const Switch& s) { return s.name == name; });
  if (listed == kSwitches.end())
    throw Error(fmt::format("{}: not in the table of switches of runtime/base/env.cpp", name));
  const char* value = secure_getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string absolute_path(const std::string& path) {
  std::error_code nowhere;
  const std::filesystem::path absolute = std::filesystem::absolute(path, nowhere);
  return path.empty() || nowhere ? path : absolute.string();
}

std::optional<std::string> get_path(std::string_view name) {
  const auto value = get(name);
  return value ? std::optional(absolute_path(*value)) : std::nullopt;
}

std::string default_database() {
  if (auto path = get("MMTUNE_DB")) return *path;
  if (auto data = get("XDG_DATA_HOME"); data && data->front() == '/') return *data + "/mmtune/mmtune.db";
  if (auto home = get("HOME"); home && home->front() == '/') return *home + "/.local/share/mmtune/mmtune.db";
  throw DatabaseError(
      "no place for the database: MMTUNE_DB is not set, and neither XDG_DATA_HOME nor HOME to an absolute path; "
      "set MMTUNE_DB=FILE");
}

std::vector<std::string> cuda_library_directories() {
  std::vector<std::string> roots;
  for (const std::string_view name : {"MMTUNE_CUDA_PATH", "CUDA_HOME", "CUDA_PATH"}) {
    if (auto root = get(name)) roots.push_back(*root);
  }
  roots.insert(roots.end(), {"/usr/local/cuda", "/opt/cuda"});

  std::vector<std::string> directories;
  for (const std::string& root : roots) {
    for (const std::string_view below :
         {std::string_view("lib64"), kTargetDirectory, std::string_view("lib"), std::string_view("")}) {
      const std::string directory = (std::filesystem::path(root) / below).lexically_normal().string();
      if (std::find(directories.begin(), directories.end(), directory) == directories.end()) {
        directories.push_back(directory);
      }
    }
  }
  return directories;
}

}  // namespace mmtune::env
