#include "db/sqlite.h"

#include <fmt/format.h>
#include <mmtune/error.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace mmtune {
namespace {

/// STRICT tables (3.37) are the newest feature in use.
constexpr int kOldestLibrary = 3'037'000;

/// No value mmtune writes comes near this many bytes.
constexpr int kLengthLimit = 256 << 20;

constexpr int kOpenFlags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;

struct Explanation {
  std::string cause;
  std::string_view remedy;
};

Explanation explain_io(int extended, int system_error) {
  switch (extended) {
    case SQLITE_READONLY_ROLLBACK:
    case SQLITE_READONLY_RECOVERY:
      return {"an interrupted write must be undone first", "open it once with write access"};
    case SQLITE_IOERR_LOCK:
    case SQLITE_IOERR_RDLOCK:
    case SQLITE_IOERR_UNLOCK:
    case SQLITE_IOERR_CHECKRESERVEDLOCK:
      return {"the file system has no working locks", "keep the database on a local disk"};
    case SQLITE_CANTOPEN_SYMLINK:
      return {"it is a symbolic link", "name the file itself"};
    default:
      if (system_error == EACCES) return {std::strerror(EACCES), "get permission, or name another file"};
      return {system_error != 0 ? std::strerror(system_error) : sqlite3_errstr(extended),
              "check the disk, its quota, the limit on file sizes, and the permissions of the file and its directory"};
  }
}

Explanation explain(int extended, int system_error, const char* message) {
  switch (extended & 0xff) {
    case SQLITE_NOTADB:
      return {"not an SQLite database", "name another file; this one was left as it is"};
    case SQLITE_CORRUPT:
      return {"damaged", "restore a copy, or move it away and tune again; it was left as it is"};
    case SQLITE_READONLY:
      if (extended != SQLITE_READONLY) return explain_io(extended, system_error);
      return {"read-only", "get write permission for the file and its directory, or name another file"};
    case SQLITE_FULL:
      return {"the disk is full", "free some space and run again; everything committed before is kept"};
    case SQLITE_BUSY:
      return {"locked by another process", "end that process or try later"};
    case SQLITE_PROTOCOL:
      return {"the file system has no working locks", "keep the database on a local disk"};
    case SQLITE_NOMEM:
      return {"out of memory", "free some memory and run again"};
    case SQLITE_TOOBIG:
      return {"a value is too large", "restore a copy, or move it away and tune again"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return explain_io(extended, system_error);
    default:
      return {message, "restore a copy, or move it away and tune again"};
  }
}

/// Whether what failed, while one file is read and another written, was writing.
bool is_of_writing(int extended) {
  switch (extended & 0xff) {
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return true;
    case SQLITE_IOERR:
      return extended != SQLITE_IOERR_READ && extended != SQLITE_IOERR_SHORT_READ && extended != SQLITE_IOERR_RDLOCK;
    default:
      return false;
  }
}

}  // namespace

Database::Database(std::string path, OpenMode mode, LockBudget* budget)
    : path_(std::move(path)), process_(getpid()), budget_(budget) {
  try {
    open_file(mode);
    harden();
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::Database(Image image, OpenMode mode) : path_("in memory"), process_(getpid()) {
  try {
    open_image(image.bytes, mode);
    harden();
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

void Database::open_file(OpenMode mode) {
  if (sqlite3_libversion_number() < kOldestLibrary) {
    throw DatabaseError(
        fmt::format("SQLite {}: too old to read databases; install SQLite 3.37 or newer", sqlite3_libversion()));
  }
  const int access = mode == OpenMode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  const int code = sqlite3_open_v2(path_.c_str(), &handle_, kOpenFlags | SQLITE_OPEN_NOFOLLOW | access, nullptr);
  if (code != SQLITE_OK) fail(code);
  // SQLite falls back to reading where it may not write.
  if (mode == OpenMode::read_write && sqlite3_db_readonly(handle_, "main") == 1) fail(SQLITE_READONLY);
}

void Database::open_image(std::string_view bytes, OpenMode mode) {
  int code = sqlite3_open_v2(":memory:", &handle_, kOpenFlags | SQLITE_OPEN_READWRITE, nullptr);
  if (code != SQLITE_OK) fail(code);
  if (bytes.empty()) return;
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  if (copy == nullptr) fail(SQLITE_NOMEM);
  std::memcpy(copy, bytes.data(), bytes.size());
  const unsigned use = mode == OpenMode::read_only ? SQLITE_DESERIALIZE_READONLY : SQLITE_DESERIALIZE_RESIZEABLE;
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  code = sqlite3_deserialize(handle_, "main", copy, size, size, use | SQLITE_DESERIALIZE_FREEONCLOSE);
  if (code != SQLITE_OK) fail(code);
}

void Database::harden() {
  sqlite3_busy_handler(handle_, on_busy, this);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLengthLimit);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  // The page size of a new file, and of any that VACUUM makes anew: many of the tables have a single row, and an image
  // ends within a page. Larger pages open no library faster.
  exec("PRAGMA page_size = 2048");
  exec("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA synchronous = EXTRA; PRAGMA temp_store = MEMORY");
}

Database::~Database() {
  // Closing in a forked child could roll back the parent's transaction; the child's copy is left alone.
  if (process_ != getpid()) return;
  statements_.clear();
  sqlite3_close_v2(handle_);
}

void Database::fail(int code, const std::string& path) const {
  const int extended = handle_ != nullptr ? sqlite3_extended_errcode(handle_) : code;
  const int system_error = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
  const char* message = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  const Explanation found = explain((extended & 0xff) == (code & 0xff) ? extended : code, system_error, message);
  const std::string message_line = fmt::format("database {}: {}; {}", path, found.cause, found.remedy);
  if ((code & 0xff) == SQLITE_BUSY) throw DatabaseLockedError(message_line);
  if ((code & 0xff) == SQLITE_ERROR) check_format();  // A newer format may lack what a statement names.
  throw DatabaseError(message_line);
}

int Database::on_busy(void* self, int tries) { return static_cast<Database*>(self)->wait_for_lock(tries) ? 1 : 0; }

/// Called where a lock is not free, with how often it was before, which is also how long was waited: SQLite does not
/// begin to count anew for every lock. Whether to try again.
bool Database::wait_for_lock(int tries) {
  using std::chrono::microseconds;
  constexpr microseconds kStep{500};
  constexpr microseconds kLongest{10'000};
  const int rising = std::min(tries, static_cast<int>(kLongest / kStep));
  const microseconds waited = kStep * (rising * (rising + 1) / 2) + kLongest * (tries - rising);
  const microseconds left = budget_ != nullptr ? budget_->left() : kLockPatience - waited;
  if (left <= microseconds(0)) return false;
  const auto before = std::chrono::steady_clock::now();
  if (begins_write_) WriteGate::leave();
  std::this_thread::sleep_for(std::min({left, kLongest, kStep * (rising + 1)}));
  if (begins_write_) WriteGate::enter();
  if (budget_ != nullptr) {
    budget_->spend(std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - before));
  }
  return true;
}

void Database::require_same_process() const {
  if (process_ != getpid()) {
    throw DatabaseError(fmt::format("database {}: opened before fork(); open it again in the child", path_));
  }
}

void Database::exec(const std::string& sql) {
  require_same_process();
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void Database::begin_write() {
  require_same_process();
  begins_write_ = true;
  const int code = sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  begins_write_ = false;
  if (code != SQLITE_OK) fail(code);
  try {
    check_format();
  } catch (...) {
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void Database::check_format() const {
  if (format_ == 0) return;
  std::int64_t found = format_;  // What keeps it from being read keeps what follows from being done, and is told then.
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_, "PRAGMA user_version", -1, &statement, nullptr);
  if (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) found = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  if (found == format_) return;
  throw DatabaseError(
      fmt::format("database {}: another mmtune has brought it to format {} meanwhile, this one knows {}; run the "
                  "command again with that one, which goes on",
                  path_, found, format_));
}

void Database::vacuum_into(const std::string& copy) {
  Statement statement(*this, "VACUUM INTO :copy");
  statement.bind("copy", copy);
  const int code = sqlite3_step(statement.handle_);
  if (code != SQLITE_DONE) fail(code, is_of_writing(code) ? copy : path_);
}

Statement& Database::statement(std::string_view sql) {
  const auto found = statements_.find(sql);
  if (found != statements_.end()) return found->second;
  return statements_.emplace(std::string(sql), Statement(*this, sql)).first->second;
}

std::int64_t Database::integer(std::string_view sql) {
  Rows rows = query(sql);
  return rows.next() ? rows.integer(0).value_or(0) : 0;
}

std::int64_t Database::changes() const { return sqlite3_changes64(handle_); }

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  if (kind == Kind::write) {
    gate_.emplace();
    database_.begin_write();
  } else {
    database_.exec("BEGIN");
  }
}

Transaction::~Transaction() {
  if (!open_ || database_.process_ != getpid()) return;
  // Fails harmlessly where SQLite has already rolled back after an error.
  sqlite3_exec(database_.handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.exec("COMMIT");
  open_ = false;
}

}  // namespace mmtune
