// The connection, which the files behind Store share.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "db/open.h"
#include "db/rows.h"
#include "db/store.h"

namespace mmtune {

struct Store::Impl {
  std::unique_ptr<Database> database;
  std::mutex mutex;  ///< Every function of Store holds it.
};

/// Records launches, all on one GPU, that are about to begin: what is recorded as running there is over. Without any
/// it does nothing.
void begin_attempts(Database& database, std::span<const LaunchRecord> attempts);

}  // namespace mmtune
