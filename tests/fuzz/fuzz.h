// What the fuzzers share. Each is one file with MMTUNE_FUZZER; see CONTRIBUTING.md for how to run them.
#pragma once

#include <fmt/format.h>
#include <mmtune/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace mmtune::fuzz {

/// What a fuzzer does with an input: 0, as libFuzzer wants it.
using Run = int (*)(const std::uint8_t* data, std::size_t size);

/// Makes the program this fuzzer where it is started by the name fuzz_<name>.
struct Registration {
  Registration(const char* name, Run run);
};

/// Begins the definition of a fuzzer's Run.
#define MMTUNE_FUZZER(name)                                                   \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size);         \
  static const mmtune::fuzz::Registration name##_is_here(#name, fuzz_##name); \
  static int fuzz_##name(const std::uint8_t* data, std::size_t size)

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process where a property does not hold, so that libFuzzer reports the input.
inline void require(bool holds, std::string_view property) {
  if (holds) return;
  fmt::print(stderr, "does not hold: {}\n", property);
  std::abort();
}

/// Runs `parse`, which may refuse its input with Refusal and nothing else.
template <class Refusal, class Parse>
void allow(const Parse& parse) {
  try {
    parse();
  } catch (const Refusal& refusal) {
    require(std::string_view(refusal.what()).size() > 10, "a refusal says something");
  }
}

}  // namespace mmtune::fuzz
