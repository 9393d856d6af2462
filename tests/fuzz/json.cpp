// JSON that other programs wrote.
#include "tuner/text/json.h"

#include "tests/fuzz/fuzz.h"

MMTUNE_FUZZER(json) {
  using namespace mmtune;
  fuzz::allow<UsageError>([&] {
    const auto again = [](std::string_view text) { return Json::parse(text, "input").written(); };
    const std::string text = again(again(fuzz::text_of(data, size)));  // what is no UTF-8 is replaced the first time
    fuzz::require(again(text) == text, "reads what it writes");
  });
  return 0;
}
