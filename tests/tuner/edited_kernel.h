// Kernels that are wrong on purpose, for tests in whose program only sound families are: `naive` with a few edits.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "templates/family/render.h"
#include "test_paths.h"

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

/// A copy of the templates, until the end of the scope.
class EditedKernel {
 public:
  EditedKernel() : root_(std::filesystem::path(testing::TempDir()) / fmt::format("mmtune_edited_{}", getpid())) {}
  ~EditedKernel() { std::filesystem::remove_all(root_); }
  EditedKernel(const EditedKernel&) = delete;
  EditedKernel& operator=(const EditedKernel&) = delete;

  /// The templates with these edits and no others.
  TemplateFiles with(const std::vector<Edit>& edits) const {
    namespace fs = std::filesystem;
    constexpr std::string_view kKernel = "templates/families/naive/kernel.cu";
    std::string text(TemplateFiles::embedded().text(std::string(kKernel)));
    for (const auto& [from, to] : edits) {
      const std::size_t at = text.find(from);
      if (at == text.npos) throw Error(fmt::format("{}: the kernel has no '{}' any more", kKernel, from));
      text.replace(at, from.size(), to);
    }
    fs::remove_all(root_);
    fs::create_directories((root_ / kKernel).parent_path());
    fs::copy(fs::path(MMTUNE_SOURCE_DIR) / "templates/device", root_ / "templates/device");
    std::ofstream(root_ / kKernel) << text;
    return TemplateFiles::from_directory(root_.string());
  }

 private:
  std::filesystem::path root_;
};

}  // namespace mmtune::test
