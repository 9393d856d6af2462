// Matrices of small whole numbers on the host: every format holds them and their sums exactly, so that a product is
// right or wrong, and never nearly right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "templates/problem/dtype.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// Rows times columns numbers from -3 to 3 in the format, 4 or 8 bytes each, the same for the same seed.
std::vector<std::byte> whole_numbers(const FormatTraits& format, std::int64_t rows, std::int64_t columns,
                                     std::uint64_t seed);

/// Whether C = A * B for packed operands of fp32, fp64 or int32 as stored, layout nn, by Freivalds' method:
/// C x = A (B x) for a random vector x of 20-bit numbers, in 64-bit integers. A wrong C passes with a probability below
/// 2^-19. Takes time for n^2, not n^3.
bool is_product(const Problem& problem, const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                const std::vector<std::byte>& c);

/// A loop on one core of the host.
enum class HostLoop {
  simple,   ///< three nested loops
  blocked,  ///< the same over square blocks that fit the caches
};

/// Seconds that the loop takes for the problem with packed operands as stored. Throws Error if its result is wrong.
double host_seconds(HostLoop loop, const Problem& problem);

}  // namespace mmtune
