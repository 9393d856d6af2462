// The program that is all fuzzers, so that what they share is compiled and linked once.
#include <filesystem>
#include <map>

#include "tests/fuzz/fuzz.h"

namespace mmtune::fuzz {
namespace {

std::map<std::string, Run>& fuzzers() {
  static std::map<std::string, Run> all;
  return all;
}

Run chosen = nullptr;

}  // namespace

Registration::Registration(const char* name, Run run) { fuzzers().emplace(name, run); }

}  // namespace mmtune::fuzz

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** argv) {
  const std::string program = std::filesystem::path((*argv)[0]).filename();
  for (const auto& [name, run] : mmtune::fuzz::fuzzers()) {
    if (program == "fuzz_" + name) mmtune::fuzz::chosen = run;
  }
  if (mmtune::fuzz::chosen != nullptr) return 0;
  fmt::print(stderr, "{}: no fuzzer has this name; start the program by one of the links beside it\n", program);
  std::exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return mmtune::fuzz::chosen(data, size);
}
