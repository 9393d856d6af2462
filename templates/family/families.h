// The registry: every folder of templates/families, found at configure time. Adding a folder is all it takes.
#pragma once

#include <string_view>
#include <vector>

#include "templates/family/family.h"

namespace mmtune {

/// All families in alphabetical order; they live as long as the program.
const std::vector<const Family*>& families();

/// The family of that name, or null.
const Family* find_family(std::string_view name);

/// The family of that name. Throws UsageError that lists the known names.
const Family& family_named(std::string_view name);

/// The family whose default is right for every problem on every GPU: what runs where nothing better is known, and what
/// must work before a GPU is believed.
const Family& fallback_family();

}  // namespace mmtune
