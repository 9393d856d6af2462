// Which kernel would run, and how long it should take, without running it: on this machine's GPU, or on an H200 that
// need not be there.
#include <mmtune/mmtune.h>

#include <cstdio>

namespace {

mmtune::Library open_library() {
  try {
    return mmtune::Library::open();
  } catch (const mmtune::DeviceError& error) {
    std::printf("no GPU here, so for an H200 (%s)\n", error.what());
    return mmtune::Library::open({.model = "h200"});
  }
}

}  // namespace

int main() try {
  const mmtune::Library library = open_library();
  for (const int size : {100, 256, 1000, 1024, 4096, 5000}) {
    const mmtune::Answer answer = library.plan({.m = size, .n = size, .k = size});
    const std::string_view match = to_string(answer.match);
    std::printf("%5d  %-9.*s %-8s %10.1f us %s  %s\n", size, static_cast<int>(match.size()), match.data(),
                answer.family.c_str(), answer.expected_us, answer.measured ? "measured" : "expected",
                answer.why.c_str());
    if (answer.family.empty() || !(answer.expected_us > 0)) return 1;
  }
  return 0;
} catch (const mmtune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
