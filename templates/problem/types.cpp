#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

constexpr std::array<std::string_view, 4> kLayoutNames{"nn", "nt", "tn", "tt"};

}  // namespace

std::string_view to_string(Precision precision) { return traits(precision).name; }

std::string_view to_string(Layout layout) { return kLayoutNames[static_cast<std::size_t>(layout)]; }

std::optional<Precision> parse_precision(std::string_view text) {
  for (const Precision precision : kAllPrecisions) {
    if (to_string(precision) == text) return precision;
  }
  return std::nullopt;
}

std::optional<Layout> parse_layout(std::string_view text) {
  for (const Layout layout : kAllLayouts) {
    if (to_string(layout) == text) return layout;
  }
  return std::nullopt;
}

}  // namespace mmtune
