// Makes a connection of a path, which can be trusted as far as it goes: permissions, identity, version, shape.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite.h"

namespace mmtune {

/// "mmtu": tells an mmtune database from any other SQLite file.
inline constexpr std::int64_t kApplicationId = 0x6d6d7475;

/// Throws DatabaseError.
[[noreturn]] void refuse(const std::string& path, std::string_view cause, std::string_view remedy);

/// One step between versions of the format: db/migrations/README.md.
struct Migration {
  int version = 0;  ///< the version that it leads to
  std::string_view sql;
};

/// The embedded steps, ascending.
std::vector<Migration> embedded_migrations();

/// The embedded db/schema.sql.
std::string_view embedded_schema();

/// The version that the steps lead to.
int current_version(const std::vector<Migration>& steps);

/// Creates the layout in an empty database, or runs the steps that an older one lacks, in one transaction. Throws
/// DatabaseError for a newer version or another application's file.
void bring_up_to_date(Database& database, std::string_view schema, const std::vector<Migration>& steps);

enum class Trust {
  own,      ///< a file whose directory, too, belongs to this user or root, and which no other user can write to
  foreign,  ///< any file that can be read: every value is suspect
};

/// See Store::open. Foreign files are only ever opened read-only.
std::unique_ptr<Database> open_database(const std::string& path, OpenMode mode, Trust trust,
                                        LockBudget* budget = nullptr);

/// Opens a copy in memory as open_database() opens a file.
std::unique_ptr<Database> open_image(Image image, OpenMode mode);

/// Creates an empty file that only this user may use. Returns false if something of that name exists.
bool create_private_file(const std::string& path);

}  // namespace mmtune
