// The page around a report's data: a file of its own that shows it without a network.
#pragma once

#include <string>
#include <string_view>

namespace mmtune {

/// Throws Error where mmtune was built without the page: what to install, and how.
void check_report_page();

/// The page with these data, which must be JSON.
std::string report_page(std::string_view json);

}  // namespace mmtune
