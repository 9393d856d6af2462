#include "templates/family/families.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <vector>

#include "templates/base/names.h"

namespace mmtune {

const Family* find_family(std::string_view name) {
  for (const Family* family : families()) {
    if (family->name() == name) return family;
  }
  return nullptr;
}

const Family& family_named(std::string_view name) {
  if (const Family* family = find_family(name)) return *family;
  std::vector<std::string_view> known;
  for (const Family* family : families()) known.push_back(family->name());
  throw UsageError(fmt::format("kernel family '{}' is unknown; {}", name, known_names(name, known)));
}

const Family& fallback_family() { return family_named("naive"); }

}  // namespace mmtune
