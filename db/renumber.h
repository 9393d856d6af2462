// The order of rows in a database.
#pragma once

#include "db/sqlite.h"

namespace mmtune {

/// Gives all rows the numbers, and so the places in the file, that follow from what they hold: trials by the time of
/// day and then by their keys, the others by their values; and removes those that only a replaced row referred to. Two
/// databases with the same rows become equal to the byte of a dump. Takes time and memory in proportion to all trials.
/// Call within a write transaction. Throws DatabaseError where a row refers to one that does not exist, which no mmtune
/// leaves.
void renumber(Database& database);

}  // namespace mmtune
