// Binds, reads and writes rows of value types: of whatever has a list of its fields (templates/base/fields.h).
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "db/columns.h"
#include "db/image.h"
#include "db/sqlite.h"

namespace mmtune {

/// Binds the value of a field with these rules, as it is stored.
template <class... Rules, class T>
void bind_field(Statement& statement, std::string_view name, const T& value, const Rules&...) {
  if constexpr (kIsHash<Rules...>) {
    statement.bind(name, Hash{value});
  } else if constexpr (kIsSettings<Rules...>) {
    const auto bytes = settings_bytes(value);
    bytes ? statement.bind(name, Blob{*bytes}) : statement.bind(name, value);
  } else if constexpr (kIsTime<Rules...>) {
    constexpr std::int64_t kNoTime = -1;
    statement.bind(name, rule::utc_seconds(value).value_or(kNoTime));
  } else {
    bind_value(statement, Named{name, value});
  }
}

/// Binds each field, and those of records inside, to the parameter of its name.
template <Record T>
void bind_value(Statement& statement, const T& given) {
  const Stored<T>& record = stored(given);
  Stored<T>::fields([&](std::string_view name, auto member, const auto&... rules) {
    if constexpr (Record<decltype(value_type(member))>) {
      bind_value(statement, record.*member);
    } else {
      bind_field(statement, name, record.*member, rules...);
    }
  });
}

/// "device_id" and the id of that row.
struct Reference {
  std::string column;
  std::int64_t id = 0;
};

/// What sql::into<T>() needs: the fields of the row itself, and the rows that it names.
template <Record T>
struct NewRow {
  const T& record;
  std::vector<Reference> references;
};

template <Record T>
void bind_own_fields(Statement& statement, const T& record) {
  static_assert(kIsStoredAsItIs<T> || kTable<T>.empty());
  if constexpr (!kIsStoredAsItIs<T>) return bind_own_fields(statement, Stored<T>(record));
  T::fields([&]<class... Rules>(std::string_view name, auto member, const Rules&... rules) {
    using Value = decltype(value_type(member));
    if constexpr (kIsImage<Rules...>) {
      const std::string& image = record.*member;
      image.empty() ? statement.bind(name, nullptr) : statement.bind(name, Blob{stored_image(image)});
    } else if constexpr (!Record<Value>) {
      bind_field(statement, name, record.*member, rules...);
    } else if constexpr (kTable<Value>.empty()) {
      bind_own_fields(statement, record.*member);
    }
  });
}

template <Record T>
void bind_value(Statement& statement, const NewRow<T>& row) {
  bind_own_fields(statement, row.record);
  for (const Reference& reference : row.references) statement.bind(reference.column, reference.id);
}

/// Reads columns from left to right. A value of a wrong type or out of its member's range spoils the row, not the
/// program: `valid` says so once all are read, and what was read may be nonsense then.
class Reader {
 public:
  explicit Reader(const Rows& rows, Images images = Images::no) : rows_(rows), images_(images) {}

  bool valid() const { return valid_; }

  template <class T>
  void read(T& value);

 private:
  template <class T>
  T take(const std::optional<T>& value) {
    valid_ = valid_ && value.has_value();
    return value.value_or(T{});
  }
  template <class T>
  void read_integer(T& value);
  void read_image(std::string& image);
  void read_time(std::string& time) { time = take(rule::utc_text(take(rows_.integer(column_++)))); }
  void read_settings(std::string& settings);
  void read_hash(std::string& hash) { hash = take(rows_.hash(column_++)); }

  const Rows& rows_;
  Images images_;
  int column_ = 0;
  bool valid_ = true;
};

/// A record, or the value of one column.
template <class T>
void Reader::read(T& value) {
  if constexpr (!kIsStoredAsItIs<T>) {
    Stored<T> stored;
    read(stored);
    value = std::move(stored).value();
  } else if constexpr (Record<T>) {
    T::fields([&]<class... Rules>(std::string_view, auto member, const Rules&...) {
      if constexpr (kIsImage<Rules...>) {
        if (images_ == Images::yes) read_image(value.*member);
      } else if constexpr (kIsHash<Rules...>) {
        read_hash(value.*member);
      } else if constexpr (kIsSettings<Rules...>) {
        read_settings(value.*member);
      } else if constexpr (kIsTime<Rules...>) {
        read_time(value.*member);
      } else {
        read(value.*member);
      }
    });
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = take(rows_.text(column_++));
  } else if constexpr (std::is_floating_point_v<T>) {
    value = take(rows_.real(column_++));
  } else if constexpr (std::is_enum_v<T>) {
    int number = 0;
    read_integer(number);
    value = static_cast<T>(number);
  } else {
    read_integer(value);
  }
}

template <class T>
void Reader::read_integer(T& value) {
  const std::int64_t number = take(rows_.integer(column_++));
  using Limits = std::numeric_limits<T>;
  const bool fits = number >= std::int64_t{Limits::min()} && number <= std::int64_t{Limits::max()};
  valid_ = valid_ && fits;
  value = fits ? static_cast<T>(number) : T{};
}

/// The record in the current row if mmtune could have written it.
template <Record T>
std::optional<T> valid_row(const Rows& rows, Images images = Images::no) {
  T record;
  Reader reader(rows, images);
  reader.read(record);
  if (!reader.valid() || !fault_of(record).empty()) return std::nullopt;
  return record;
}

/// The records that mmtune could have written, from the current row on.
template <Record T>
std::vector<T> valid_rows(Rows rows) {
  std::vector<T> records;
  while (rows.next()) {
    if (auto record = valid_row<T>(rows)) records.push_back(*std::move(record));
  }
  return records;
}

template <Record T>
void write_references(Database& database, const T& record, std::vector<Reference>& references);

/// The id of a record's row, which is written if it is not there yet, as is what it refers to. Call within a write
/// transaction.
template <Record T>
std::int64_t id_of(Database& database, const T& record) {
  static const std::string select =
      fmt::format("SELECT {}.id{} WHERE {}", kTable<T>, sql::from<T>(), sql::matches<T>());
  static const std::string insert = "INSERT " + sql::into<T>();
  const auto find = [&]() -> std::optional<std::int64_t> {
    Rows rows = database.query(select, record);
    if (!rows.next()) return std::nullopt;
    return rows.integer(0);
  };
  if (const auto id = find()) return *id;
  NewRow<T> row{record, {}};
  write_references(database, record, row.references);
  database.run(insert, row);
  return find().value_or(0);  // The reference to 0, which is no id, is refused.
}

template <Record T>
void write_references(Database& database, const T& given, std::vector<Reference>& references) {
  const Stored<T>& record = stored(given);
  Stored<T>::fields([&](std::string_view, auto member, const auto&...) {
    using Value = decltype(value_type(member));
    if constexpr (Record<Value>) {
      if constexpr (kTable<Value>.empty()) {
        write_references(database, record.*member, references);
      } else {
        references.push_back({fmt::format("{}_id", kTable<Value>), id_of(database, record.*member)});
      }
    }
  });
}

[[noreturn]] void refuse_row(const Database& database, std::string_view table, std::string_view fault);

/// Throws DatabaseError for a record that would not be read back.
template <Record T>
void require_sound(const Database& database, const T& record) {
  if (const std::string fault = fault_of(record); !fault.empty()) refuse_row(database, kTable<T>, fault);
}

/// Writes a sound record by `statement`, which begins with INSERT. What the row refers to is written if it is not there
/// yet. Call within a write transaction.
template <Record T>
void write_row(Database& database, std::string_view statement, const T& record) {
  require_sound(database, record);
  NewRow<T> row{record, {}};
  write_references(database, record, row.references);
  database.run(statement, row);
}

/// Replaces the row with the same key.
template <Record T>
void write_row(Database& database, const T& record) {
  static const std::string statement = "INSERT OR REPLACE " + sql::into<T>();
  write_row(database, statement, record);
}

/// The stored trial of this key; nothing also where the row is spoilt.
std::optional<Trial> find_trial(Database& database, const TrialKey& key);

/// The program with this hash, with its image where that is stored.
std::optional<Binary> find_binary(Database& database, const std::string& hash);

/// What a source compiled to, that of this hash if there are several, without its image; no hash where there is none
/// with an image. See select_winner().
Binary code_of(Database& database, std::string_view source_hash, std::string_view binary_hash);

// Writes of sound values; call within a write transaction.

/// Replaces the facts, and keeps a stored image if it is the same or the binary comes without one. `stored`:
/// stored_image() or passing_image().
void write_binary(Database& database, const Binary& binary, std::string (*stored)(std::string_view) = stored_image);

/// The attempt is about to run.
void write_attempt(Database& database, const LaunchRecord& attempt);
/// The attempt at this trial is over, if there was one.
void end_attempt(Database& database, const Trial& trial);

/// Removes kernels that no trial or attempt names any more, and families that no kernel does.
void remove_unused_kernels(Database& database);

/// A time of day as it is stored.
std::string utc_text(std::chrono::system_clock::time_point time);

/// The present time as it is stored.
std::string utc_now();

}  // namespace mmtune
