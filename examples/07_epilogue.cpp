// A layer of a network in one kernel: C = relu(A B + bias), where the bias has an element for each column of C.
#include <mmtune/mmtune.h>

#include <algorithm>

#include "example.h"

namespace {

/// Whether C = relu(A B + bias), by a plain loop. Returns an exit code.
int verify(const example::Matrix& a, const example::Matrix& b, const example::Matrix& bias, const example::Matrix& c,
           int m, int n, int k) {
  const std::vector<float> results = c.now();
  double largest = 0;
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      double sum = bias.before(0, column);
      for (int l = 0; l < k; ++l) sum += double{a.before(row, l)} * b.before(l, column);
      const double difference = results[static_cast<std::size_t>(row) * n + column] - std::max(sum, 0.0);
      largest = std::fmax(largest, std::fabs(difference));
    }
  }
  std::printf("largest difference to a plain loop: %g\n", largest);
  return largest <= 1e-3 ? 0 : 1;
}

}  // namespace

int main() try {
  example::require_gpu();
  constexpr int m = 300, n = 200, k = 100;
  const example::Matrix a(m, k), b(k, n), bias(1, n), c(m, n);
  mmtune::Gemm layer{.m = m, .n = n, .k = k, .a = a.data(), .b = b.data(), .c = c.data()};
  layer.epilogue = {
      .activation = mmtune::Activation::relu, .bias = mmtune::Bias::per_column, .bias_vector = bias.data()};

  // Compiles the kernel that the plain product would run, with this epilogue.
  mmtune::Library library = mmtune::Library::open();
  library.prepare({&layer, 1});
  const mmtune::Answer answer = library.gemm(layer, nullptr);

  std::printf("%s %s: %s\n", answer.family.c_str(), answer.config.c_str(), answer.why.c_str());
  return verify(a, b, bias, c, m, n, k);
} catch (const mmtune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
