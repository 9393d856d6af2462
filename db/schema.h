// Whether a file's layout is that of db/schema.sql.
#pragma once

#include <string>
#include <string_view>

#include "db/sqlite.h"

namespace mmtune {

/// What is in the database and not in `schema`, or there otherwise, or missing, as "the table \"trial\" is not that of
/// this format"; empty if nothing is. Tables and indices are compared by their statements, without comments and
/// whatever the order of columns, since a migration appends its own. What SQLite keeps for itself does not count.
std::string fault_of_schema(Database& database, std::string_view schema);

}  // namespace mmtune
