// The connection, which the files behind Store share.
#pragma once

#include <memory>
#include <mutex>

#include "db/open.h"
#include "db/rows.h"
#include "db/store.h"

namespace mmtune {

struct Store::Impl {
  std::unique_ptr<Database> database;
  std::mutex mutex;  ///< Every function of Store holds it.
};

}  // namespace mmtune
