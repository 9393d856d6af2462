#include "db/open.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mmtune/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "db/schema.h"
#include "templates/base/names.h"

namespace mmtune {

namespace embedded {
const std::vector<std::pair<std::string_view, std::string_view>>& mmtune_db();
}  // namespace embedded

namespace {

namespace fs = std::filesystem;

/// mkdir -p with 0700 for what is missing.
void create_private_directories(const fs::path& directory) {
  fs::path made;
  for (const fs::path& part : directory) {
    made /= part;
    if (mkdir(made.c_str(), 0700) == 0 || errno == EEXIST) continue;
    if (errno == EROFS || errno == EACCES) {
      const int reason = errno;
      std::error_code error;
      if (fs::is_directory(made, error)) continue;
      errno = reason;
    }
    refuse(made, fmt::format("directory cannot be created: {}", std::strerror(errno)),
           "name another place or get permission");
  }
}

[[noreturn]] void refuse_missing(const std::string& path) {
  refuse(path, "does not exist", "tune first, or name another file");
}

/// The file's name in its real directory: links above the file are the user's, the file itself must be none.
std::string resolve(const std::string& path, OpenMode mode) {
  std::error_code error;
  const fs::path given = fs::absolute(path, error);
  if (path.empty() || !given.has_filename() || fs::is_directory(given, error)) {
    refuse(path, "not the name of a file", "name a file, for example mmtune.db");
  }
  if (mode == OpenMode::read_write) create_private_directories(given.parent_path());
  const fs::path directory = fs::canonical(given.parent_path(), error);
  if (error == std::errc::no_such_file_or_directory) refuse_missing(path);
  if (error) refuse(path, fmt::format("its directory: {}", error.message()), "check the path");
  return directory / given.filename();
}

/// Root can do anything anyway.
bool is_trusted_owner(uid_t owner) { return owner == geteuid() || owner == 0; }

void check_directory(const std::string& path) {
  const std::string directory = fs::path(path).parent_path();
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) refuse(path, std::strerror(errno), "check the path");
  if (!is_trusted_owner(status.st_uid)) {
    refuse(path, "its directory belongs to another user", "keep it in a directory of your own, or merge from it");
  }
  // Under the sticky bit (/tmp) others cannot replace the file.
  if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) {
    refuse(path, "its directory can be written by all users", "chmod o-w the directory, or name another place");
  }
}

void check_file(const std::string& path, Trust trust) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) refuse_missing(path);
    refuse(path, std::strerror(errno), "check the path and its permissions");
  }
  if (S_ISLNK(status.st_mode)) refuse(path, "it is a symbolic link", "name the file itself");
  if (!S_ISREG(status.st_mode)) refuse(path, "it is no regular file", "name another file");
  // SQLite takes a file that is shorter than its header for an empty database. One whose creation was interrupted has a
  // journal, by which SQLite makes it empty.
  constexpr off_t kSmallestPage = 512;
  if (status.st_size > 0 && status.st_size < kSmallestPage && access((path + "-journal").c_str(), F_OK) != 0) {
    refuse(path, fmt::format("damaged or no SQLite database, with {} bytes", status.st_size),
           "name another file; this one was left as it is");
  }
  if (trust == Trust::foreign) return;
  if (!is_trusted_owner(status.st_uid)) {
    refuse(path, "it belongs to another user", "merge from it into a database of your own");
  }
  if ((status.st_mode & S_IWOTH) != 0) refuse(path, "it can be written by all users", "chmod o-w the file");
}

/// A planted journal would be played back into the database.
void check_journals(const std::string& path) {
  for (const char* suffix : {"-journal", "-wal", "-shm"}) {
    struct stat status {};
    const std::string journal = path + suffix;
    if (lstat(journal.c_str(), &status) != 0) continue;
    if (!S_ISREG(status.st_mode) || !is_trusted_owner(status.st_uid)) {
      refuse(journal, "it is a link or belongs to another user", "move it away");
    }
  }
}

struct Header {
  std::int64_t application = 0;
  std::int64_t version = 0;
  std::int64_t objects = 0;

  bool empty() const { return application == 0 && version == 0 && objects == 0; }
};

/// Call within a transaction: another process may be creating the layout.
Header read_header(Database& database) {
  return {database.integer("PRAGMA application_id"), database.integer("PRAGMA user_version"),
          database.integer("SELECT count(*) FROM sqlite_schema")};
}

void check_identity(const Database& database, const Header& header, int current) {
  if (header.application != kApplicationId) {
    refuse(database.path(), fmt::format("of another application (application_id {:#x})", header.application),
           "name another file; this one was left as it is");
  }
  if (header.version > current) {
    refuse(database.path(),
           fmt::format("format {} of a newer mmtune; this one reads up to {}", header.version, current),
           "update mmtune, or name another file");
  }
  if (header.version < 1) refuse(database.path(), "damaged: it has no version", "restore a copy");
}

Header read_header_in_transaction(Database& database) {
  const Transaction transaction(database, Transaction::Kind::read);
  return read_header(database);
}

/// Throws if it is no database of mmtune; brings an older one up to date where it may be written.
void accept(Database& database, OpenMode mode) {
  const std::vector<Migration> steps = embedded_migrations();
  const int current = current_version(steps);
  Header header = read_header_in_transaction(database);
  if (mode == OpenMode::read_write && (header.empty() || header.version < current)) {
    bring_up_to_date(database, embedded_schema(), steps);
    header = read_header_in_transaction(database);
  }
  const std::string& file = database.path();
  if (header.empty()) refuse(file, "empty", "tune first, or name another file");
  check_identity(database, header, current);
  if (header.version < current) {
    refuse(file, fmt::format("format {} is older than {}", header.version, current),
           fmt::format("run `mmtune db prune --code --yes --db {}` once, which migrates it and keeps all results",
                       shell_word(file)));
  }
  static const Schema schema(embedded_schema());
  if (const std::string fault = schema.fault_of(database); !fault.empty()) {
    refuse(file, fault, "restore a copy, or move it away and tune again");
  }
  database.keep_format(current);
}

/// Undoes what a killed writer left half done, as a reader cannot. While a writer lives, SQLite leaves its journal
/// alone.
void undo_interrupted_write(const std::string& file, LockBudget* budget) {
  if (access((file + "-journal").c_str(), F_OK) != 0 || access(file.c_str(), W_OK) != 0) return;
  Database database(file, OpenMode::read_write, budget);
  read_header_in_transaction(database);
}

}  // namespace

void refuse(const std::string& path, std::string_view cause, std::string_view remedy) {
  throw DatabaseError(fmt::format("database {}: {}; {}", path, cause, remedy));
}

std::vector<Migration> embedded_migrations() {
  constexpr std::string_view kFolder = "db/migrations/";
  std::vector<Migration> steps;
  for (const auto& [path, text] : embedded::mmtune_db()) {
    if (!path.starts_with(kFolder)) continue;
    Migration step{0, text};
    std::from_chars(path.data() + kFolder.size(), path.data() + path.size(), step.version);
    steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.version < b.version; });
  return steps;
}

std::string_view embedded_schema() {
  for (const auto& [path, text] : embedded::mmtune_db()) {
    if (path == "db/schema.sql") return text;
  }
  throw Error("db/schema.sql: not embedded in this build; build mmtune again");
}

int current_version(const std::vector<Migration>& steps) { return steps.empty() ? 1 : steps.back().version; }

void bring_up_to_date(Database& database, std::string_view schema, const std::vector<Migration>& steps) {
  // A step may make a table anew that others refer to (https://www.sqlite.org/lang_altertable.html, section 7).
  database.exec("PRAGMA foreign_keys = OFF");
  Transaction transaction(database, Transaction::Kind::write);
  const Header header = read_header(database);
  if (header.empty()) {
    database.exec(std::string(schema));
    database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  } else {
    check_identity(database, header, current_version(steps));
    database.add_migration_functions();
    for (const Migration& step : steps) {
      if (step.version > header.version) database.exec(std::string(step.sql));
    }
  }
  database.exec(fmt::format("PRAGMA user_version = {}", current_version(steps)));
  transaction.commit();
  database.exec("PRAGMA foreign_keys = ON");
}

std::unique_ptr<Database> open_database(const std::string& path, OpenMode mode, Trust trust, LockBudget* budget) {
  const std::string file = resolve(path, mode);
  if (trust == Trust::own) check_directory(file);
  if (mode == OpenMode::read_write) create_private_file(file);
  check_file(file, trust);
  if (trust == Trust::own) {
    check_journals(file);
    if (mode == OpenMode::read_only) undo_interrupted_write(file, budget);
  }

  auto database = std::make_unique<Database>(file, mode, budget);
  accept(*database, mode);
  if (mode == OpenMode::read_write) database->exec("PRAGMA journal_mode = DELETE");
  return database;
}

std::unique_ptr<Database> open_image(Image image, OpenMode mode) {
  auto database = std::make_unique<Database>(image, mode);
  accept(*database, mode);
  return database;
}

bool create_private_file(const std::string& path) {
  // Never opens an existing file: closing it would drop the locks of this process's other connections.
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0) {
    close(file);
    return true;
  }
  if (errno == EEXIST) return false;
  // On read-only media and in directories of others an existing file may still be usable.
  const int reason = errno;
  if (access(path.c_str(), F_OK) == 0) return false;
  refuse(path, fmt::format("cannot be created: {}", std::strerror(reason)),
         "get write permission for its directory, or name another place");
}

}  // namespace mmtune
