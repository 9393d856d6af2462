#include "db/renumber.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db/columns.h"
#include "db/open.h"

namespace mmtune {
namespace {

/// A table whose rows name rows of other tables by their numbers.
struct Referring {
  std::string_view name;
  std::vector<std::string> columns;  ///< the columns without the id
  std::string_view order;            ///< the order of rows that have ids
};

/// The tables that have rows. Winners and rivals, which refer to trials, go first and come last.
std::vector<Referring> referring_tables(Database& database) {
  std::vector<Referring> tables{
      {kTable<Decision>, row_columns<Decision>(), "1"},
      {kTable<Rival>, row_columns<Rival>(), "1"},
      {kTable<Attempt>, row_columns<Attempt>(), "started, device_id, problem_id, kernel_id, boot"},
      {kTable<Trial>, row_columns<Trial>(), "created, device_id, problem_id, evidence, kernel_id"}};
  std::erase_if(tables, [&](const Referring& table) {
    return database.integer(fmt::format("SELECT EXISTS (SELECT 1 FROM main.{})", table.name)) == 0;
  });
  return tables;
}

constexpr std::array kReferredTo{kTable<DeviceKey>, kTable<Problem>, kTable<Environment>, kTable<RunConditions>,
                                 kTable<KernelRow>};

std::string listed(const std::vector<std::string>& names, std::string_view separator = ", ") {
  return fmt::format("{}", fmt::join(names, separator));
}

std::string id_column(std::string_view table) { return fmt::format("{}_id", table); }

bool refers(const Referring& table, std::string_view other) {
  return std::find(table.columns.begin(), table.columns.end(), id_column(other)) != table.columns.end();
}

/// Moves the rows to temp.old_<name>, with the numbers that they have, and returns how many they are.
std::int64_t take_out(Database& database, const Referring& table) {
  database.exec(
      fmt::format("CREATE TEMP TABLE old_{0} AS SELECT {1} FROM main.{0}", table.name, listed(table.columns)));
  return database.run(fmt::format("DELETE FROM main.{}", table.name));
}

/// Moves the rows back in order, with the new numbers of what they refer to. Returns how many they are: those that
/// refer to nothing are missing.
std::int64_t put_back(Database& database, const Referring& table) {
  std::vector<std::string> values;
  std::string joins;
  for (const std::string& column : table.columns) values.push_back(fmt::format("old_{}.{}", table.name, column));
  for (const std::string_view other : kReferredTo) {
    if (!refers(table, other)) continue;
    const std::string column = id_column(other);
    joins += fmt::format(" JOIN new_{0} ON new_{0}.old = old_{1}.{2}", other, table.name, column);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (table.columns[i] == column) values[i] = fmt::format("new_{}.id AS {}", other, column);
    }
  }
  const std::int64_t rows =
      database.run(fmt::format("INSERT INTO main.{0} ({1}) SELECT {2} FROM old_{0}{3} ORDER BY {4}", table.name,
                               listed(table.columns), listed(values), joins, table.order));
  database.exec(fmt::format("DROP TABLE old_{}", table.name));
  return rows;
}

/// Removes the rows of a table to which nothing in the tables that were taken out refers.
void remove_unused(Database& database, const std::vector<Referring>& tables, std::string_view name) {
  std::vector<std::string> uses;
  for (const Referring& table : tables) {
    if (refers(table, name)) uses.push_back(fmt::format("SELECT {} FROM old_{}", id_column(name), table.name));
  }
  database.exec(fmt::format("DELETE FROM main.{} WHERE id NOT IN ({})", name, listed(uses, " UNION ")));
}

/// Renumbers a table while nothing refers to its rows: temp.new_<name> says which number each gets.
void renumber_referred(Database& database, std::string_view name, const std::vector<std::string>& columns) {
  database.exec(
      fmt::format("CREATE TEMP TABLE new_{0} (old INTEGER PRIMARY KEY, id INTEGER NOT NULL);"
                  "INSERT INTO new_{0} SELECT id, row_number() OVER (ORDER BY {1}) FROM main.{0};"
                  // Twice, since a new number may be another row's old one.
                  "UPDATE main.{0} SET id = -(SELECT n.id FROM new_{0} n WHERE n.old = main.{0}.id);"
                  "UPDATE main.{0} SET id = -id",
                  name, listed(columns)));
}

/// Renumbers kernels, after the families that they name.
void renumber_kernels(Database& database) {
  database.exec("DELETE FROM main.family WHERE id NOT IN (SELECT family_id FROM main.kernel)");
  renumber_referred(database, kTable<FamilyRow>, row_columns<FamilyRow>());
  database.exec(
      "UPDATE main.kernel SET family_id = (SELECT n.id FROM new_family n WHERE n.old = kernel.family_id);"
      "DROP TABLE new_family");
  renumber_referred(database, kTable<KernelRow>, row_columns<KernelRow>());
}

}  // namespace

void renumber(Database& database) {
  database.exec("PRAGMA defer_foreign_keys = ON");
  const std::vector<Referring> tables = referring_tables(database);
  std::int64_t dangling = 0;
  for (const Referring& table : tables) dangling += take_out(database, table);
  for (const std::string_view name : kReferredTo) remove_unused(database, tables, name);
  renumber_referred(database, kTable<DeviceKey>, row_columns<DeviceKey>());
  renumber_referred(database, kTable<Problem>, row_columns<Problem>());
  renumber_referred(database, kTable<Environment>, row_columns<Environment>());
  renumber_referred(database, kTable<RunConditions>, row_columns<RunConditions>());
  renumber_kernels(database);
  for (auto table = tables.rbegin(); table != tables.rend(); ++table) dangling -= put_back(database, *table);
  if (dangling > 0) {
    refuse(database.path(), "damaged: rows refer to others that do not exist",
           "see `mmtune db check`; merge this one and the others into a new database");
  }
  for (const std::string_view name : kReferredTo) database.exec(fmt::format("DROP TABLE new_{}", name));
}

}  // namespace mmtune
