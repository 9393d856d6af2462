#include "runtime/call/databases.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <mmtune/error.h>

#include <filesystem>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "runtime/base/printable.h"
#include "templates/base/names.h"

namespace mmtune {
namespace {

/// The path of a file beside the library; empty if there is no such file.
std::string shipped_database() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&database_places), &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  if (error) return "";
  const std::filesystem::path file = library.parent_path() / "mmtune-system.db";
  return std::filesystem::exists(file, error) ? file.string() : "";
}

bool exists(const std::string& path) {
  std::error_code unreadable;
  return std::filesystem::exists(path, unreadable) || unreadable;
}

/// The kernels of one database; `fault` gets what is wrong with it.
StoredKernels read_database(const std::string& path, CurrentSources& sources, LockBudget& budget, std::string& fault) {
  StoredKernels kernels;
  try {
    Store store = Store::open(path, OpenMode::read_only, &budget);
    kernels = load_kernels(store, sources);
    if (kernels.unusable > 0) {
      fault = fmt::format("database {}: {} kernels for {} are of another version", path, kernels.unusable,
                          sources.device().name);
    }
  } catch (const DatabaseError& error) {
    fault = error.what();
  }
  return kernels;
}

/// Adds the entries for problems that `all` does not have yet.
void add(std::vector<Entry>& all, std::vector<Entry> more) {
  if (all.empty()) return all.swap(more);
  std::unordered_set<Problem, ProblemHash> known;
  for (const Entry& entry : all) known.insert(entry.problem);
  for (Entry& entry : more) {
    if (!known.contains(entry.problem)) all.push_back(std::move(entry));
  }
}

/// Adds what is new.
void add(StoredKernels& all, StoredKernels more) {
  add(all.winners, std::move(more.winners));
  add(all.fallbacks, std::move(more.fallbacks));
  std::move(more.times.begin(), more.times.end(), std::back_inserter(all.times));
  all.images.merge(std::move(more.images));
  all.unusable += more.unusable;
}

/// Why the user's own database offers nothing, where nothing is wrong with it; empty if it is not to be looked at.
std::string why_nothing(const std::string& own, const DeviceSpec& device) {
  try {
    if (own.empty()) env::default_database();  // This throws what says why there is none.
  } catch (const DatabaseError& error) {
    return error.what();
  }
  return exists(own) ? fmt::format("database {} has no kernels for {}", own, device.name)
                     : fmt::format("database {} does not exist", own);
}

}  // namespace

std::vector<std::string> DatabasePlaces::all() const {
  std::vector<std::string> paths;
  for (const std::string& path : {own, system}) {
    if (!path.empty()) paths.push_back(path);
  }
  return paths;
}

DatabasePlaces database_places(const LibraryOptions& options) {
  DatabasePlaces places;
  try {
    places.own = env::absolute_path(options.database.empty() ? env::default_database() : options.database);
  } catch (const DatabaseError&) {
    places.own.clear();
  }
  const auto named = env::get_path("MMTUNE_SYSTEM_DB");
  places.system = named ? *named : shipped_database();
  return places;
}

StoredKernels read_databases(const DatabasePlaces& places, const DeviceSpec& device, const TemplateFiles& files,
                             LockBudget& budget, std::string& note) {
  StoredKernels kernels;
  CurrentSources sources(device, files);
  std::vector<std::string> faults;
  for (const std::string& path : places.all()) {
    if (path == places.own && !exists(path)) continue;  // Nothing has been tuned yet.
    std::string fault;
    add(kernels, read_database(path, sources, budget, fault));
    if (!fault.empty()) faults.push_back(std::move(fault));
  }
  // What cannot be opened says itself what to do, and might not be tuned into either.
  const bool lacks_kernels = kernels.unusable > 0 || (faults.empty() && kernels.winners.empty());
  if (faults.empty() && kernels.winners.empty()) faults.push_back(why_nothing(places.own, device));
  if (faults.empty()) return kernels;
  note = printable(fmt::format("{}", fmt::join(faults, "; ")));
  const std::string remedy =
      lacks_kernels ? fmt::format("; run `{}`", tune_command("256..8192", places.own)) : std::string();
  log::warning("{}; {}{}", note,
               kernels.winners.empty() ? "nothing that is tuned runs" : "going on with the kernels that could be read",
               remedy);
  return kernels;
}

std::string database_words(const std::string& database) {
  return database.empty() ? "" : " --db " + shell_word(database);
}

std::string tune_command(std::string_view sizes, const std::string& database) {
  return fmt::format("mmtune --device auto --sizes {}{}", sizes, database_words(database));
}

std::string tune_command(const Problem& problem, const std::string& database) {
  const std::string problems =
      fmt::format("{}x{}x{} --precision {} --layout {}{}", problem.m, problem.n, problem.k,
                  to_string(problem.precision), to_string(problem.layout), problem.invariant ? " --invariant" : "");
  return tune_command(problems, database);
}

}  // namespace mmtune
