// The problems of a run that are still to be tuned on a GPU model, and their order.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "db/store.h"
#include "tuner/tune/preparation.h"
#include "tuner/tune/search_identity.h"
#include "tuner/tune/session_options.h"

namespace mmtune {

struct Task {
  Problem problem;
  SearchIdentity search;
};

struct TaskList {
  std::deque<Task> tasks;  ///< the first one comes first
  int known = 0;           ///< the number of problems whose decision is stored
  int too_large = 0;       ///< the number of problems that do not fit on the GPU
};

/// The tasks of a GPU model that has so many devices. Tells of problems that do not fit. Throws DatabaseError.
TaskList list_tasks(const SessionOptions& options, const std::vector<const Family*>& families,
                    const Preparation& preparation, std::size_t devices, Store& store);

}  // namespace mmtune
