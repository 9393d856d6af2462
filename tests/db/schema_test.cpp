// The tables of db/schema.sql have the columns that the lists of fields have, with their types.
#include <mmtune/error.h>

#include <map>

#include "db/columns.h"
#include "db/sqlite.h"
#include "tests/db/fixtures.h"

namespace mmtune::test {
namespace {

template <class Value>
std::string type_of() {
  if (std::is_floating_point_v<Value>) return "REAL";
  return std::is_same_v<Value, std::string> ? "TEXT" : "INTEGER";
}

/// The types of the columns of T itself, by names like "trial.samples".
template <Record T>
void add_columns(std::string_view table, std::map<std::string, std::string>& types) {
  Stored<T>::fields([&]<class... Rules>(std::string_view name, auto member, const Rules&...) {
    using Value = decltype(value_type(member));
    if constexpr (!Record<Value>) {
      types[fmt::format("{}.{}", table, name)] = kIsImage<Rules...>                           ? "BLOB"
                                                 : kIsHash<Rules...> || kIsSettings<Rules...> ? "ANY"
                                                 : kIsTime<Rules...>                          ? "INTEGER"
                                                                                              : type_of<Value>();
    } else if constexpr (kTable<Value>.empty()) {
      add_columns<Value>(table, types);
    } else {
      types[fmt::format("{}.{}_id", table, kTable<Value>)] = "INTEGER";
    }
  });
}

template <Record... T>
std::map<std::string, std::string> listed() {
  std::map<std::string, std::string> types;
  (add_columns<T>(kTable<T>, types), ...);
  return types;
}

TEST_F(StoreTest, TheSchemaHasTheFieldsOfTheLists) {
  open();
  Database database(path_, OpenMode::read_only);
  Rows rows = database.query(
      "SELECT t.name || '.' || c.name, c.type FROM sqlite_schema t, pragma_table_xinfo(t.name) c"
      " WHERE t.type = 'table' AND c.name <> 'id'");
  std::map<std::string, std::string> types;
  while (rows.next()) types[std::string(*rows.text(0))] = *rows.text(1);
  EXPECT_EQ(types, (listed<DeviceKey, Problem, Environment, RunConditions, FamilyRow, KernelRow, Binary, Compiled,
                           Trial, Attempt, LostCompile, Decision, Rival>()));
}

TEST_F(StoreTest, StatementsBindEveryParameterByItsName) {
  open();
  Database database(path_, OpenMode::read_only);
  constexpr std::string_view kSql = "SELECT :b - :a";
  Rows rows = database.query(kSql, Named{"a", 1}, Named{"b", 5});
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.integer(0), 4);
  EXPECT_THROW(database.query(kSql, Named{"a", 1}), Error) << "b keeps no value of an earlier run";
  EXPECT_THROW(database.query(kSql, Named{"a", 1}, Named{"b", 2}, Named{"c", 3}), Error);
}

}  // namespace
}  // namespace mmtune::test
