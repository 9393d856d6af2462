#include "tuner/commands/one_problem.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include "tuner/text/sizes.h"

namespace mmtune {

Problem one_problem(const std::string& size, const Options& options) {
  const auto sizes = parse_sizes(size);
  if (sizes.size() != 1 || options.precisions.size() != 1 || options.layouts.size() != 1) {
    throw UsageError(fmt::format("--size '{}' with these --precision and --layout are {} problems; name one", size,
                                 sizes.size() * options.precisions.size() * options.layouts.size()));
  }
  return packed_problem(options.precisions[0], options.layouts[0], sizes[0].m, sizes[0].n, sizes[0].k);
}

}  // namespace mmtune
