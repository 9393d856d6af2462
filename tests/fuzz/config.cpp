// The text form of a configuration: --config arguments and database values.
#include "templates/base/config.h"

#include "tests/fuzz/fuzz.h"

MMTUNE_FUZZER(config) {
  using namespace mmtune;
  fuzz::allow<UsageError>([&] {
    const Config config = Config::parse(fuzz::text_of(data, size));
    const std::string text = config.text();
    fuzz::require(Config::parse(text) == config, "reads what it writes");
    fuzz::require(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789= -") ==
                      std::string::npos,
                  "names are identifiers, values whole numbers");
    for (const Setting& setting : config.settings()) {
      fuzz::require(*config.find(setting.name) == setting.value, "finds every setting");
    }
  });
  return 0;
}
