#include "db/columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "templates/base/joined.h"

namespace mmtune {
namespace {

template <Record... T>
std::vector<TableColumns> tables_of() {
  return {{kTable<T>, row_columns<T>()}...};
}

}  // namespace

std::vector<TableColumns> tables() {
  return tables_of<DeviceKey, Problem, Environment, RunConditions, FamilyRow, KernelRow, Binary, Compiled, Trial,
                   Attempt, LostCompile, Decision, Rival>();
}

namespace sql {

std::string names(const std::vector<SqlColumn>& columns) {
  return joined(columns, ", ", [](const SqlColumn& c) { return fmt::format("{}.{}", c.table, c.name); });
}

std::string conditions(const std::vector<SqlColumn>& columns) {
  return joined(columns, " AND ", [](const SqlColumn& c) { return fmt::format("{0}.{1} = :{1}", c.table, c.name); });
}

std::string join(std::string_view table, const std::vector<SqlReference>& references) {
  return fmt::format(" FROM {}{}", table, joined(references, "", [](const SqlReference& each) {
                       return fmt::format(" JOIN {0} ON {0}.id = {1}.{0}_id", each.to, each.from);
                     }));
}

std::string insert(std::string_view table, const std::vector<std::string>& columns) {
  return fmt::format("INTO {} ({}) VALUES (:{})", table, fmt::join(columns, ", "), fmt::join(columns, ", :"));
}

std::string equal(const std::vector<std::string>& columns, std::string_view table, std::string_view other) {
  return joined(columns, " AND ",
                [&](const std::string& c) { return fmt::format("{0}.{2} = {1}.{2}", table, other, c); });
}

}  // namespace sql

}  // namespace mmtune
