// Kernels that are wrong on purpose, for tests in whose program only sound families are: `naive` with a few edits.
#pragma once

#include <fmt/format.h>
#include <mmtune/error.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/edited_files.h"

namespace mmtune::test {

/// A piece of the kernel and what stands there instead.
struct Edit {
  std::string_view from, to;
};

/// A condition beside an edit that lets the thread of C[0,0] count: `i + row + j + column == 0 && atomicAdd(&launches,
/// 1u) >= 3` is true for it from the fourth launch on.
inline constexpr Edit kLaunchCounter{"extern \"C\"", "__device__ unsigned launches = 0;\nextern \"C\""};

/// One in C[0,0] too many from the fourth launch on.
inline constexpr Edit kWrongLater{"sums[i][j], alpha",
                                  "sums[i][j] + (row + i + column + j == 0 && atomicAdd(&launches, 1u) >= 3), alpha"};

/// The last bit follows the clock, but only of sums that are not whole: right every time, and never the same.
inline constexpr Edit kRoundsByTheClock{
    "sums[i][j], alpha", "sums[i][j] * (1 + (sums[i][j] != rintf(sums[i][j])) * (clock64() / 8 % 2) * 1.2e-7f), alpha"};

/// The templates with these edits.
inline TemplateFiles edited_templates(const std::vector<Edit>& edits) {
  constexpr const char* kKernel = "templates/families/naive/kernel.cu";
  std::string text(TemplateFiles::embedded().text(kKernel));
  for (const auto& [from, to] : edits) {
    const std::size_t at = text.find(from);
    if (at == text.npos) throw Error(fmt::format("{}: the kernel has no '{}' any more", kKernel, from));
    text.replace(at, from.size(), to);
  }
  return with_file(TemplateFiles::embedded(), kKernel, std::move(text));
}

}  // namespace mmtune::test
