// The verb `worker` for any parts, so that a program for tests has the same with parts of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tuner/commands/verb.h"
#include "tuner/workers/worker.h"

namespace mmtune {

/// `make_parts` is called when the verb runs.
inline Verb worker_verb(const std::function<WorkerParts()>& make_parts) {
  auto arguments = std::make_shared<std::vector<std::string>>();
  return {.name = "worker",
          .help = "Work for another mmtune, which starts this itself",
          .options = {{.names = "arguments",
                       .value = "WORD",
                       .help = "what the worker is for",
                       .target = texts_target(*arguments),
                       .repeatable = true}},
          .run = [arguments, make_parts] {
            run_worker(*arguments, make_parts());
            return ExitCode::done;
          }};
}

}  // namespace mmtune
