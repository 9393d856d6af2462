// The --sizes notation, without files (sizes_file.cpp).
#include "tuner/text/sizes.h"

#include <fmt/ranges.h>

#include <set>

#include "tests/fuzz/fuzz.h"

MMTUNE_FUZZER(sizes) {
  using namespace mmtune;
  const auto text = fuzz::text_of(data, size);
  if (text.find('@') != std::string_view::npos) return 0;
  fuzz::allow<UsageError>([&] {
    const auto sizes = parse_sizes(text);
    fuzz::require(!sizes.empty() && sizes.size() <= kMaxSizes, "between 1 and kMaxSizes");
    std::vector<std::string> words;
    for (const auto& each : sizes) {
      for (const auto extent : {each.m, each.n, each.k}) {
        fuzz::require(extent >= 1 && extent <= kMaxExtent, "extents from 1 to kMaxExtent");
      }
      words.push_back(to_string(each));
    }
    fuzz::require(std::set<std::string>(words.begin(), words.end()).size() == words.size(), "no repetitions");
    fuzz::require(parse_sizes(fmt::format("{}", fmt::join(words, ","))) == sizes, "reads what it writes");
  });
  return 0;
}
