// The text form of a restricted search: --only "BM=128,256 TM=16".
#include <fmt/ranges.h>

#include "templates/space/space.h"
#include "tests/fuzz/fuzz.h"

MMTUNE_FUZZER(restriction) {
  using namespace mmtune;
  fuzz::allow<UsageError>([&] {
    const Restriction restriction = parse_restriction(fuzz::text_of(data, size));
    std::string text;
    for (const auto& [name, values] : restriction) {
      fuzz::require(!name.empty() && !values.empty(), "a restriction names a parameter and at least one value");
      text += fmt::format(" {}={}", name, fmt::join(values, ","));
    }
    fuzz::require(parse_restriction(text) == restriction, "reads what it writes");
  });
  return 0;
}
