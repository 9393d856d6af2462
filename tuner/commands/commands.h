// The verbs of the program, one file each. A new verb is a new file and its name here.
#pragma once

#include <array>
#include <functional>

namespace CLI {
class App;
}

namespace mmtune {

/// What the program returns to its caller.
enum class ExitCode : int {
  done = 0,
  internal_error = 1,
  usage = 2,
  no_device = 3,
  no_candidate = 4,  ///< some sizes without a valid candidate
  database = 5,
  device_lost = 6,
  interrupted = 130,
};

/// The work of the verb that was chosen. Throws what main.cpp maps to an exit code.
using Action = std::function<ExitCode()>;

/// Each declares its verb and options on `app`. If the command line names the verb, parsing sets `action`, which must
/// outlive it.
void add_tune(CLI::App& app, Action& action);
void add_refresh(CLI::App& app, Action& action);
void add_repeatability(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_space(CLI::App& app, Action& action);
void add_render(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_db(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_worker(CLI::App& app, Action& action);

/// In the order of the help page.
inline constexpr std::array kVerbs{add_tune,   add_bench,   add_show,   add_refresh, add_repeatability, add_space,
                                   add_render, add_devices, add_doctor, add_db,      add_worker};

}  // namespace mmtune
