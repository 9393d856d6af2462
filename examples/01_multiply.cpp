// C = 2 A B + C on the GPU, with whatever kernel is best known for this size.
#include <mmtune/mmtune.h>

#include "example.h"

int main() try {
  example::require_gpu();
  constexpr int m = 300, n = 200, k = 100;
  const example::Matrix a(m, k), b(k, n), c(m, n);

  // Tuned kernels come from the database. Where it has none for a call, this compiles a plain one.
  mmtune::Library library = mmtune::Library::open({.compile_missing = true});

  const mmtune::Gemm call{.m = m, .n = n, .k = k, .alpha = 2, .a = a.data(), .b = b.data(), .beta = 1, .c = c.data()};
  const mmtune::Answer answer = library.gemm(call, nullptr);

  std::printf("%s %s: %s\n", answer.family.c_str(), answer.config.c_str(), answer.why.c_str());
  return example::verify(a, b, c, m, n, k, 2, 1);
} catch (const mmtune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
