// A file of sizes, as in --sizes @file.csv.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz.h"
#include "tuner/text/sizes.h"

MMTUNE_FUZZER(sizes_file) {
  using namespace mmtune;
  static const std::string path = std::filesystem::temp_directory_path() / fmt::format("mmtune_fuzz_{}.csv", getpid());
  const auto text = fuzz::text_of(data, size);
  std::ofstream(path, std::ios::binary) << text;
  fuzz::allow<UsageError>([&] {
    const auto sizes = parse_sizes("@" + path);
    fuzz::require(!sizes.empty() && sizes.size() <= kMaxSizes, "between 1 and kMaxSizes");
    std::string columns = "k,n,m\n";
    for (const auto& each : sizes) columns += fmt::format("{},{},{}\n", each.k, each.n, each.m);
    std::ofstream(path, std::ios::binary) << columns;
    fuzz::require(parse_sizes("@" + path) == sizes, "reads what a table of named columns says");
  });
  std::filesystem::remove(path);
  return 0;
}
