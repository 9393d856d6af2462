#include "runtime/base/dynamic_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <mmtune/error.h>

#include <string_view>

#include "runtime/base/log.h"

namespace mmtune {
namespace {

/// The loader's reason without the name it begins with, which our message says already.
std::string last_error(std::string_view candidate) {
  const char* text = dlerror();
  std::string_view reason = text != nullptr ? text : "unknown reason";
  const std::string prefix = fmt::format("{}: ", candidate);
  if (reason.starts_with(prefix)) reason.remove_prefix(prefix.size());
  return std::string(reason);
}

std::string loaded_file(void* handle, const std::string& candidate) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name[0] == '\0') return candidate;
  return map->l_name;
}

}  // namespace

DynamicLibrary DynamicLibrary::open(const std::string& what, const std::vector<std::string>& candidates,
                                    const std::string& remedy) {
  std::string tried;
  std::string reason;
  bool is_one_reason = true;
  for (const std::string& candidate : candidates) {
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return DynamicLibrary(handle, loaded_file(handle, candidate));
    }
    // Most candidates fail for one reason, which is said once behind them all.
    const std::string its_reason = last_error(candidate);
    is_one_reason = is_one_reason && (reason.empty() || its_reason == reason);
    if (!reason.empty()) tried += its_reason == reason ? ", " : fmt::format(" ({}), ", reason);
    tried += candidate;
    reason = its_reason;
  }
  tried += fmt::format(" ({})", reason);
  if (!is_one_reason || candidates.size() == 1) {
    throw DeviceError(fmt::format("cannot load {}: tried {}; {}", what, tried, remedy));
  }
  log::info("{}: tried {}", what, tried);
  const bool is_nowhere = reason.ends_with("No such file or directory");
  throw DeviceError(fmt::format("cannot load {}: {} {} places (-v or MMTUNE_LOG=info lists them); {}", what,
                                is_nowhere ? "in none of" : reason + " in all", candidates.size(), remedy));
}

void* DynamicLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

void* DynamicLibrary::require(const char* symbol) const {
  if (void* address = find(symbol)) return address;
  throw DeviceError(fmt::format("{} has no function {}: install a newer version", path_, symbol));
}

}  // namespace mmtune
