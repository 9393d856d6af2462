// The databases that a library reads: the user's own, and one for reading only that was shipped with an application.
#pragma once

#include <mmtune/mmtune.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/choose/dispatch.h"

namespace mmtune {

struct DatabasePlaces {
  std::string own;     ///< LibraryOptions::database, else MMTUNE_DB, else the user's; empty where there is no place
  std::string system;  ///< MMTUNE_SYSTEM_DB, else the file mmtune-system.db beside the library; empty if there is none

  /// The paths that are not empty, in the order in which they count.
  std::vector<std::string> all() const;
};

/// The places for these options, by paths from the root: machine code is read when it is first needed. "Beside the
/// library" is beside the file that this code was loaded from: the library, or the program that it is linked into.
DatabasePlaces database_places(const LibraryOptions& options);

/// The kernels that all databases offer this device; for a problem or a fallback that several have, the first one
/// counts. No fault of a database may stop an application: `note` gets the faults, in one line, which was logged as a
/// warning too.
StoredKernels read_databases(const DatabasePlaces& places, const DeviceSpec& device, const TemplateFiles& files,
                             LockBudget& budget, std::string& note);

/// How a command that is advised names a database: " --db FILE", or nothing where no file stands for the user's.
std::string database_words(const std::string& database);

/// The command that tunes these sizes, as "mmtune --device auto --sizes 512 --db FILE".
std::string tune_command(std::string_view sizes, const std::string& database);
/// The same for a problem, with its precision and layout.
std::string tune_command(const Problem& problem, const std::string& database);

}  // namespace mmtune
