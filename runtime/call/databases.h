// The databases that a library reads: the user's own, and one for reading only that was shipped with an application.
#pragma once

#include <mmtune/mmtune.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/choose/dispatch.h"

namespace mmtune {

struct DatabasePlaces {
  std::string own;     ///< LibraryOptions::database, MMTUNE_DB, the user's; empty where there is no place for it
  std::string system;  ///< MMTUNE_SYSTEM_DB, else the file mmtune-system.db beside the library; empty if there is none

  /// Those that are named, the one that counts first first.
  std::vector<std::string> all() const;
};

/// The file that this code was loaded from is the library, or the program that it is linked into.
DatabasePlaces database_places(const LibraryOptions& options);

/// What all databases offer this device; for a problem or a fallback that several have, the first one counts. Nothing
/// wrong with a database may stop an application: `note` gets what is, in one line, which was logged as a warning too.
StoredKernels read_databases(const DatabasePlaces& places, const DeviceSpec& device, const TemplateFiles& files,
                             LockBudget& budget, std::string& note);

/// "mmtune --device auto --sizes 512 --db FILE".
std::string tune_command(std::string_view sizes, const std::string& database);

}  // namespace mmtune
