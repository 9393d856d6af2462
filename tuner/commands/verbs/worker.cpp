// mmtune worker, which only mmtune starts: the process in which candidates are compiled and run.
#include "tuner/commands/worker_verb.h"

namespace mmtune {

Verb mmtune_verb_worker() { return worker_verb(real_parts); }

}  // namespace mmtune
