// Copies of a database for other machines.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "db/store_impl.h"

namespace mmtune {
namespace {

/// Forces a file, or the names in a directory, to disk.
void sync(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) close(file);
  if (!synced) {
    refuse(path, fmt::format("not written to disk: {}", std::strerror(reason)), "check the disk and export again");
  }
}

/// A new, empty file beside `target`, which only this user may use.
std::string create_beside(const std::string& target) {
  constexpr std::string_view kSuffix = ".part";
  std::string path = fmt::format("{}.XXXXXX{}", target, kSuffix);
  const int file = mkostemps(path.data(), static_cast<int>(kSuffix.size()), O_CLOEXEC);
  if (file < 0) {
    refuse(target, fmt::format("cannot be created: {}", std::strerror(errno)),
           "get write permission for its directory, or name another place");
  }
  close(file);
  return path;
}

/// Gives a complete file its name, which nothing may have.
void publish(const std::string& path, const std::string& target) {
  if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) return;
  int reason = errno;
  if (reason == EINVAL || reason == ENOSYS) {  // The file system does not support it.
    const bool exists = access(target.c_str(), F_OK) == 0;
    if (!exists && rename(path.c_str(), target.c_str()) == 0) return;
    reason = exists ? EEXIST : errno;
  }
  if (reason == EEXIST) refuse(target, "already exists", "name a new file");
  refuse(target, fmt::format("cannot be named: {}", std::strerror(reason)), "check its directory and export again");
}

/// What ends a process waits as long as this lives: nobody else removes a file that is not whole yet.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, number);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

/// The sources that are compiled and that no kernel has.
std::vector<std::string> unused_sources(Database& database) {
  constexpr std::string_view kSelect =
      "SELECT DISTINCT source_hash FROM compiled WHERE source_hash NOT IN (SELECT source_hash FROM kernel)";
  std::vector<std::string> sources;
  for (Rows rows = database.query(kSelect); rows.next();) sources.push_back(rows.hash(0).value_or(""));
  return sources;
}

/// Leaves nothing in a file, which has no name yet, but what serves an application.
void keep_winners(const std::string& path, const std::vector<std::string>& more_sources) {
  Database database(path, OpenMode::read_write);
  database.integer("PRAGMA journal_mode = MEMORY");  // No file lies beside one that nothing reads if it is cut short.
  const std::string same = sql::same<TrialKey>("winner", "trial");
  {
    Transaction transaction(database, Transaction::Kind::write);
    for (const std::string_view table : {"attempt", "lost_compile", "rival"})
      database.exec(fmt::format("DELETE FROM {}", table));
    database.exec(
        fmt::format("DELETE FROM winner WHERE NOT EXISTS (SELECT 1 FROM trial WHERE {} AND trial.outcome = 0)", same));
    database.exec(fmt::format("DELETE FROM trial WHERE NOT EXISTS (SELECT 1 FROM winner WHERE {})", same));
    remove_unused_kernels(database);
    for (const std::string& source : unused_sources(database)) {
      if (std::find(more_sources.begin(), more_sources.end(), source) != more_sources.end()) continue;
      database.run("DELETE FROM compiled WHERE source_hash = :source", Named{"source", Hash{source}});
    }
    database.exec(
        "DELETE FROM binary WHERE hash NOT IN (SELECT binary_hash FROM compiled);"
        "DELETE FROM problem WHERE id NOT IN (SELECT problem_id FROM trial);"
        "DELETE FROM device WHERE id NOT IN (SELECT device_id FROM trial);"
        "DELETE FROM environment WHERE id NOT IN (SELECT environment_id FROM trial);"
        "DELETE FROM conditions WHERE id NOT IN (SELECT conditions_id FROM trial)");
    transaction.commit();
  }
  database.exec("VACUUM");
}

/// A compact copy that has its name when it is whole; `reduce` gets its path before.
void publish_copy(Database& database, const std::string& target_path,
                  const std::function<void(const std::string&)>& reduce) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::absolute(target_path, error);
  if (std::filesystem::symlink_status(target, error).type() != std::filesystem::file_type::not_found) {
    refuse(target, "already exists", "name a new file");
  }
  const SignalsWait signals_wait;
  const std::string partial = create_beside(target);
  try {
    database.vacuum_into(partial);
    reduce(partial);
    sync(partial);
    publish(partial, target);
  } catch (...) {
    unlink(partial.c_str());
    throw;
  }
  sync(target.parent_path());
}

}  // namespace

void Store::export_to(const std::string& target_path) {
  const std::lock_guard lock(impl_->mutex);
  publish_copy(*impl_->database, target_path, [](const std::string& /*copy*/) {});
}

void Store::export_without_code(const std::string& target_path) {
  const std::lock_guard lock(impl_->mutex);
  publish_copy(*impl_->database, target_path, [](const std::string& copy) {
    Database database(copy, OpenMode::read_write);
    database.integer("PRAGMA journal_mode = MEMORY");
    database.exec("BEGIN; DELETE FROM compiled; UPDATE binary SET cubin = NULL; COMMIT; VACUUM");
  });
}

void Store::export_winners(const std::string& target_path, const std::vector<std::string>& more_sources) {
  const std::lock_guard lock(impl_->mutex);
  publish_copy(*impl_->database, target_path, [&](const std::string& copy) { keep_winners(copy, more_sources); });
}

}  // namespace mmtune
