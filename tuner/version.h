// Which build of mmtune this is.
#pragma once

#include <string_view>

namespace mmtune {

/// "0.1.0".
std::string_view build_version();

/// The commit it was built from, followed by "+" if files differed from it; "unknown" without git.
std::string_view build_commit();

}  // namespace mmtune
