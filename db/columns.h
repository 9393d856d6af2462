// SQL from lists of fields: which columns make a record, of which tables, and how rows of it are found.
//
// A field is a column of its name. A record inside a record is a row of its own table, which the outer row names in a
// column <table>_id, or, without a table, more columns of the same. The lists are those of the records as which T and
// its members are stored (Stored<T>).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/tables.h"

namespace mmtune {

/// Whether the images of programs are read too, which are much larger than all the rest.
enum class Images { no, yes };

template <class... Rules>
inline constexpr bool kIsImage = (std::is_same_v<Rules, rule::MachineCode> || ...);

template <class... Rules>
inline constexpr bool kIsHash = ((std::is_same_v<Rules, rule::Hash> || std::is_same_v<Rules, rule::HashOrNothing>) ||
                                 ...);

template <class... Rules>
inline constexpr bool kIsSettings = (std::is_same_v<Rules, rule::Settings> || ...);

template <class... Rules>
inline constexpr bool kIsTime = (std::is_same_v<Rules, rule::UtcTime> || ...);

struct SqlColumn {
  std::string_view table;
  std::string name;
};

/// The columns of the fields, and of the fields of records inside, in the order of the lists.
template <Record T>
std::vector<SqlColumn> columns_of(std::string_view table, Images images) {
  std::vector<SqlColumn> columns;
  Stored<T>::fields([&]<class... Rules>(std::string_view name, auto member, const Rules&...) {
    using Value = decltype(value_type(member));
    if constexpr (Record<Value>) {
      for (SqlColumn& inner : columns_of<Value>(kTable<Value>.empty() ? table : kTable<Value>, images)) {
        columns.push_back(std::move(inner));
      }
    } else if (!kIsImage<Rules...> || images == Images::yes) {
      columns.push_back({table, std::string(name)});
    }
  });
  return columns;
}

/// The columns of the table of T alone, images and references (device_id) too; not the id of the row.
template <Record T>
std::vector<std::string> row_columns() {
  std::vector<std::string> columns;
  Stored<T>::fields([&](std::string_view name, auto member, const auto&...) {
    using Value = decltype(value_type(member));
    if constexpr (!Record<Value>) {
      columns.emplace_back(name);
    } else if constexpr (kTable<Value>.empty()) {
      for (std::string& inner : row_columns<Value>()) columns.push_back(std::move(inner));
    } else {
      columns.push_back(std::string(kTable<Value>) + "_id");
    }
  });
  return columns;
}

/// A row of one table that names one of another.
struct SqlReference {
  std::string_view from;
  std::string_view to;
};

/// The references of the records inside T, each behind that to the table which it begins at.
template <Record T>
std::vector<SqlReference> references(std::string_view table) {
  std::vector<SqlReference> found;
  Stored<T>::fields([&](std::string_view, auto member, const auto&...) {
    using Value = decltype(value_type(member));
    if constexpr (Record<Value>) {
      const std::string_view inner = kTable<Value>.empty() ? table : kTable<Value>;
      if (!kTable<Value>.empty()) found.push_back({table, inner});
      for (const SqlReference& each : references<Value>(inner)) found.push_back(each);
    }
  });
  return found;
}

struct TableColumns {
  std::string_view name;
  std::vector<std::string> columns;  ///< the columns without the id
};

/// All tables of a database.
std::vector<TableColumns> tables();

namespace sql {

// Texts of lists, without what the lists say.
std::string names(const std::vector<SqlColumn>& columns);
std::string conditions(const std::vector<SqlColumn>& columns);
std::string join(std::string_view table, const std::vector<SqlReference>& references);
std::string insert(std::string_view table, const std::vector<std::string>& columns);
std::string equal(const std::vector<std::string>& columns, std::string_view table, std::string_view other);

/// "device.name, device.sm_count, …, trial.family, …": what Reader::read reads of a T.
template <Record T>
std::string columns(Images images = Images::no) {
  return names(columns_of<T>(kTable<T>, images));
}

/// " FROM trial JOIN device ON device.id = trial.device_id …": the tables of these columns.
template <Record T>
std::string from() {
  return join(kTable<T>, references<T>(kTable<T>));
}

/// "device.name = :name AND …": the row, of `table` where T has none of its own, whose fields are those bound.
template <Record T>
std::string matches(std::string_view table = kTable<T>) {
  return conditions(columns_of<T>(table, Images::no));
}

/// "INTO trial (device_id, …) VALUES (:device_id, …)".
template <Record T>
std::string into() {
  return insert(kTable<T>, row_columns<T>());
}

/// "winner.device_id = trial.device_id AND …": rows of two tables that agree in all of T.
template <Record T>
std::string same(std::string_view table, std::string_view other) {
  return equal(row_columns<T>(), table, other);
}

}  // namespace sql

}  // namespace mmtune
