// Configurations that differ little: steps in the tables of their parameters.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace mmtune {

/// The position of each parameter's value in its table.
using Digits = std::vector<std::size_t>;

/// What is next to `digits` among what is `allowed`, each once: one parameter moves in its table as little as is
/// allowed, or one does and another moves the other way: as tiles do that keep their area, and the blocks per SM that
/// follow the tile. `sizes` are those of the tables; `digits` need not be allowed.
std::vector<Digits> neighbours(const Digits& digits, const std::vector<std::size_t>& sizes,
                               const std::function<bool(const Digits&)>& allowed);

}  // namespace mmtune
