// Machine code that nothing will run any more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/sqlite.h"
#include "db/trial.h"

namespace mmtune {

/// See Store::drop_losing_code(). The number of images. Call within a write transaction.
std::int64_t drop_losing_code(Database& database, const std::vector<ProblemKey>& problems,
                              const std::vector<std::string>& kept_sources);

/// As drop_losing_code(), for all problems.
std::int64_t drop_all_losing_code(Database& database, const std::vector<std::string>& kept_sources);

/// How many images drop_all_losing_code() would drop.
std::int64_t count_losing_code(Database& database, const std::vector<std::string>& kept_sources);

/// Compresses images as they are compressed now: versions before 6 and searches store them as they are, versions before
/// 10 by zlib.
/// Call within a write transaction.
void compress_images(Database& database);

}  // namespace mmtune
