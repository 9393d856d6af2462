// SQLite as RAII: a connection, prepared statements with typed binds, their rows, transactions. sqlite3.h stays inside.
//
// One connection belongs to one thread and to the process that opened it: use after fork() throws. Every failure
// throws DatabaseError naming the file, the cause and the remedy; loops over rows therefore end on any error.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "db/opening.h"
#include "db/write_gate.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mmtune {

class Rows;
class Statement;

/// How long each lock is waited for, unless there is a LockBudget.
inline constexpr std::chrono::seconds kLockPatience{30};

/// The bytes of a database file.
struct Image {
  std::string_view bytes;
};

class Database {
 public:
  /// Opens an existing file that is no symbolic link. Hardened against hostile files: no triggers, views, extensions or
  /// functions of the schema, every cell's size checked. Where `budget` is given, which must live as long, locks are
  /// waited for within it; DatabaseLockedError says that it is spent.
  Database(std::string path, OpenMode mode, LockBudget* budget = nullptr);

  /// Opens a copy in memory, hardened likewise, which goes with the connection.
  Database(Image image, OpenMode mode);

  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& path() const { return path_; }

  /// Runs one or more statements that return no rows.
  void exec(const std::string& sql);

  /// Runs the statement of this text, which is prepared once. See Statement::query for the arguments.
  template <class... Args>
  Rows query(std::string_view sql, const Args&... args);

  /// Runs a statement without rows as query() runs others. Returns the number of rows it changed.
  template <class... Args>
  std::int64_t run(std::string_view sql, const Args&... args);

  /// From now on no transaction writes where user_version is another one, and statements that fail there say so:
  /// programs of other versions may bring a database up to date while this one has it open.
  void keep_format(std::int64_t version) { format_ = version; }

  /// mmtune_hash() and others: see db/migrations/. Nothing in a schema can call them.
  void add_migration_functions();

  /// Writes a compact copy to an empty file. Throws like the rest, but names `copy` where writing it is what fails.
  void vacuum_into(const std::string& copy);

  /// The first column of the first row, for pragmas and counts.
  std::int64_t integer(std::string_view sql);

 private:
  friend class Rows;
  friend class Statement;
  friend class Transaction;
  void open_file(OpenMode mode);
  void open_image(std::string_view bytes, OpenMode mode);
  void harden();
  static int on_busy(void* self, int tries);
  bool wait_for_lock(int tries);
  void begin_write();
  void check_format() const;
  /// Throws what `code` calls for.
  [[noreturn]] void fail(int code) const { fail(code, path_); }
  [[noreturn]] void fail(int code, const std::string& path) const;
  void require_same_process() const;
  Statement& statement(std::string_view sql);
  std::int64_t changes() const;

  std::string path_;
  sqlite3* handle_ = nullptr;
  long process_;
  LockBudget* budget_ = nullptr;
  bool begins_write_ = false;  ///< whether it has no lock yet
  std::int64_t format_ = 0;    ///< the format that is known; 0: any
  std::map<std::string, Statement, std::less<>> statements_;
};

/// Bytes to be stored as a BLOB.
struct Blob {
  std::string_view bytes;
};

/// The hash of a source or a program, or another word in its place. 32 hexadecimal digits are stored as the BLOB of 16
/// bytes that they stand for, which is half as long, and others as texts.
struct Hash {
  std::string_view text;
};

/// The 16 bytes that a hash is stored as; nothing where it is stored as a text.
std::optional<std::string> hash_bytes(std::string_view hash);

/// The result of a running statement; ends it when it goes out of scope, so that no lock outlives a loop.
class Rows {
 public:
  explicit Rows(Statement& statement) : statement_(statement) {}
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// Moves to the next row; false at the end.
  bool next();

  // Columns from 0; nothing where the stored value has another type, which a hostile file can do anywhere. Texts and
  // blobs live until the next call of next().
  std::optional<std::int64_t> integer(int column) const;
  std::optional<double> real(int column) const;
  std::optional<std::string_view> text(int column) const;
  std::optional<std::string_view> blob(int column) const;
  bool is_null(int column) const;
  /// The text that is stored as a Hash.
  std::optional<std::string> hash(int column) const;

 private:
  Statement& statement_;
};

class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  /// Binds every parameter by its name. An argument is a Named value or a type with its own
  /// bind_value(Statement&, const T&), which may fill several parameters (db/rows.h). Throws Error for a parameter that
  /// the statement does not have, or that is left.
  template <class... Args>
  Rows query(const Args&... args) {
    restart();
    (bind_value(*this, args), ...);
    require_all_bound();
    return Rows(*this);
  }

  /// `name` without the colon before it.
  void bind(std::string_view name, std::int64_t value);
  void bind(std::string_view name, double value);
  void bind(std::string_view name, std::string_view value);
  void bind(std::string_view name, Blob value);
  void bind(std::string_view name, Hash value);
  void bind(std::string_view name, std::nullptr_t);

 private:
  friend class Database;
  friend class Rows;
  void restart();
  bool step();
  int take_parameter(std::string_view name);
  void require_all_bound() const;
  void check_bind(int code);

  struct Parameter {
    std::string name;
    bool bound = false;
  };

  Database* database_;
  sqlite3_stmt* handle_ = nullptr;
  std::vector<Parameter> parameters_;
};

template <class... Args>
Rows Database::query(std::string_view sql, const Args&... args) {
  return statement(sql).query(args...);
}

template <class... Args>
std::int64_t Database::run(std::string_view sql, const Args&... args) {
  Rows rows = query(sql, args...);
  while (rows.next()) {
  }
  return changes();
}

/// A value for the parameter :name. It is a number, an enum, a text, a Blob, a Hash, nullptr or an optional of these.
template <class T>
struct Named {
  std::string_view name;
  const T& value;
};
template <class T>
Named(std::string_view, const T&) -> Named<T>;

template <class T>
void bind_value(Statement& statement, const Named<T>& named) {
  if constexpr (std::integral<T> || std::is_enum_v<T>) {
    statement.bind(named.name, static_cast<std::int64_t>(named.value));
  } else if constexpr (requires { named.value.has_value(); }) {
    named.value ? bind_value(statement, Named{named.name, *named.value}) : statement.bind(named.name, nullptr);
  } else {
    statement.bind(named.name, named.value);
  }
}

/// Rolls back unless committed.
class Transaction {
 public:
  enum class Kind {
    write,  ///< BEGIN IMMEDIATE: it waits for its turn here, not half-way
    read,   ///< All reads see one state.
  };

  Transaction(Database& database, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();

 private:
  Database& database_;
  std::optional<WriteGate> gate_;  ///< the gate of a write
  bool open_ = true;
};

}  // namespace mmtune
