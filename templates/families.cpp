#include "templates/families.h"

#include <fmt/format.h>
#include <mmtune/error.h>

namespace mmtune {

const Family* find_family(std::string_view name) {
  for (const Family* family : families()) {
    if (family->name() == name) return family;
  }
  return nullptr;
}

const Family& family_named(std::string_view name) {
  if (const Family* family = find_family(name)) return *family;
  std::string known;
  for (const Family* family : families()) known += fmt::format("{}{}", known.empty() ? "" : ", ", family->name());
  throw UsageError(fmt::format("kernel family '{}' is unknown; choose one of: {}", name, known));
}

const Family& fallback_family() { return family_named("naive"); }

}  // namespace mmtune
