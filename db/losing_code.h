// Machine code that nothing will run any more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "db/sqlite.h"
#include "db/trial.h"

namespace mmtune {

/// See Store::drop_losing_code(). The number of images. Call within a write transaction.
std::int64_t drop_losing_code(Database& database, const std::vector<ProblemKey>& problems,
                              const std::vector<std::string>& kept_sources);

/// Does what drop_losing_code() does, for all problems.
std::int64_t drop_all_losing_code(Database& database, const std::vector<std::string>& kept_sources);

/// How many images drop_all_losing_code() would drop.
std::int64_t count_losing_code(Database& database, const std::vector<std::string>& kept_sources);

/// Images as they are compressed now, by the hashes of their programs, of all that are stored otherwise and would gain:
/// searches and versions before 6 store them as they are, versions before 10 by zlib. An image takes milliseconds, so
/// this needs no transaction, which would keep others from the database.
std::map<std::string, std::string> compressed_images(Database& database);

/// Stores these instead, but of programs whose image is gone meanwhile. Call within a write transaction.
void replace_images(Database& database, const std::map<std::string, std::string>& images);

}  // namespace mmtune
