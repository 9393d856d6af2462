// What a precision or an activation is called elsewhere: in C, in Python, by BLAS, in the manual. Their tables in
// templates/ are the lists; these tests say which file lacks an entry, and hold docs/extending.md to the number of
// files.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mmtune/epilogue.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "templates/problem/dtype.h"
#include "test_paths.h"

namespace mmtune {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(MMTUNE_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string capitals(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// A file outside templates/ that names every entry of a list, and how.
struct Listing {
  std::string path;
  std::string text;
};

std::vector<Listing> listings_of(Precision precision) {
  const std::string name(to_string(precision));
  return {
      {"runtime/include/mmtune/mmtune_c.h",
       fmt::format("  MMTUNE_{} = {},\n", capitals(name), static_cast<int>(precision))},
      {"python/native/call.c", fmt::format("{{\"{}\", MMTUNE_{}, ", name, capitals(name))},
      {"runtime/c/blas_values.cpp", fmt::format("Precision::{}}}", name)},
      {"docs/cli.md", fmt::format("`{}`", name)},
      {"docs/library.md", fmt::format("`{}`", name)},
  };
}

TEST(Listed, EveryPrecisionEverywhere) {
  for (const Precision precision : kAllPrecisions) {
    for (const auto& [path, text] : listings_of(precision)) {
      EXPECT_NE(text_of(path).find(text), std::string::npos) << path << " lacks '" << text << "'";
    }
  }
}

TEST(Listed, TheNumberOfFilesIsTheOneThatIsDocumented) {
  constexpr std::size_t kTables = 2;  // types.h and dtype.cpp
  constexpr std::size_t kCublas = 1;  // cuBLAS may have such a product.
  const std::string page = text_of("docs/extending.md");
  std::smatch row;
  ASSERT_TRUE(std::regex_search(page, row, std::regex("\\| \\[precision\\][^|]*\\| ([0-9]+) \\|")));
  EXPECT_EQ(row[1], std::to_string(kTables + listings_of(kDefaultPrecision).size() + kCublas));
  for (const auto& [path, text] : listings_of(kDefaultPrecision)) {
    const std::string name = path.substr(path.rfind('/') + 1);
    EXPECT_NE(page.find(name, page.find("## A precision")), std::string::npos) << name;
  }
}

TEST(Listed, EveryActivationEverywhere) {
  for (const Activation activation : kAllActivations) {
    if (activation == Activation::none) continue;
    const std::string name(to_string(activation));
    const int number = static_cast<int>(activation);
    for (const auto& [path, text] :
         {Listing{"runtime/include/mmtune/mmtune_c.h", fmt::format("MMTUNE_{} = {}", capitals(name), number)},
          Listing{"python/native/library.c", fmt::format("\"{}\"", name)},
          Listing{"python/mmtune/_serving.py", fmt::format("\"{}\": {}", name, number)},
          Listing{"templates/device/activation.cuh", fmt::format("struct Activation<{}> {{  // {}", number, name)},
          Listing{"docs/library.md", fmt::format("`{}`", name)}}) {
      EXPECT_NE(text_of(path).find(text), std::string::npos) << path << " lacks '" << text << "'";
    }
  }
}

}  // namespace
}  // namespace mmtune
