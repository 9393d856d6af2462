// Whether a file's layout is that of db/schema.sql.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite.h"

namespace mmtune {

/// The tables and indices that a script creates. Immutable, so usable from any thread.
class Schema {
 public:
  /// `script` must outlive it.
  explicit Schema(std::string_view script);

  /// What is in the database and not in the script, or there otherwise, or missing, as "its table trial is not that of
  /// this format"; empty if nothing is. Tables and indices are compared by their statements, without comments and
  /// whatever the order of columns, since a migration appends its own. What SQLite keeps for itself does not count.
  std::string fault_of(Database& database) const;

 private:
  struct Object {
    std::string_view text;           ///< the text of its statement, which a database that the script created has too
    std::vector<std::string> parts;  ///< the parts of the statement, in a form that can be compared
  };

  std::map<std::string, Object, std::less<>> objects_;  ///< the objects by "table trial" or "index trial_by_kernel"
};

}  // namespace mmtune
