// Every MMTUNE_* switch, in one table; nothing else in the project reads the environment.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mmtune::env {

struct Switch {
  std::string_view name;           ///< "MMTUNE_DB"
  std::string_view default_value;  ///< a text for documentation
  std::string_view help;
};

/// The table, for `mmtune doctor` and docs/env.md.
std::span<const Switch> switches();

/// The value of a listed switch, or nothing if unset or empty, or if the process runs with raised privileges
/// (AT_SECURE), where paths from the environment must not be trusted.
std::optional<std::string> get(std::string_view name);

/// A path from the root, which stays right where the process changes its directory; as it is if there is none.
std::string absolute_path(const std::string& path);
/// The value of a switch that names a file, by such a path.
std::optional<std::string> get_path(std::string_view name);

/// MMTUNE_DB, else $XDG_DATA_HOME/mmtune/mmtune.db, else ~/.local/share/mmtune/mmtune.db. A relative directory is
/// ignored, as the XDG base directory specification demands. Throws DatabaseError if there is no other.
std::string default_database();

/// Directories to look for NVIDIA's libraries in, in order: MMTUNE_CUDA_PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda, …
std::vector<std::string> cuda_library_directories();

}  // namespace mmtune::env
