// What the examples need besides the library: a GPU or a polite exit, device memory, a check of the result.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace example {

/// What ctest counts as skipped.
constexpr int kSkipped = 77;

inline void check(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(result));
  std::exit(1);
}

inline void require_gpu() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return;
  std::puts("skipped: no GPU here");
  std::exit(kSkipped);
}

/// A matrix on the GPU, filled with a few small numbers.
class Matrix {
 public:
  Matrix(int rows, int columns) : columns_(columns), before_(static_cast<std::size_t>(rows) * columns) {
    for (std::size_t i = 0; i < before_.size(); ++i) before_[i] = static_cast<float>(static_cast<int>(i % 7) - 3);
    check(cudaMalloc(&data_, bytes()));
    check(cudaMemcpy(data_, before_.data(), bytes(), cudaMemcpyHostToDevice));
  }
  ~Matrix() { cudaFree(data_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  float* data() const { return static_cast<float*>(data_); }
  float before(int row, int column) const { return before_[static_cast<std::size_t>(row) * columns_ + column]; }

  /// Waits for the GPU.
  std::vector<float> now() const {
    std::vector<float> values(before_.size());
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  std::size_t bytes() const { return before_.size() * sizeof(float); }

  int columns_;
  std::vector<float> before_;
  void* data_ = nullptr;
};

/// Whether C = alpha * A * B + beta * C, by a plain loop. Returns an exit code.
inline int verify(const Matrix& a, const Matrix& b, const Matrix& c, int m, int n, int k, double alpha, double beta) {
  const std::vector<float> results = c.now();
  double largest = 0;
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += double{a.before(row, l)} * b.before(l, column);
      const double expected = alpha * sum + (beta == 0 ? 0 : beta * c.before(row, column));
      largest = std::fmax(largest, std::fabs(results[static_cast<std::size_t>(row) * n + column] - expected));
    }
  }
  std::printf("largest difference to a plain loop: %g\n", largest);
  return largest <= 1e-3 ? 0 : 1;
}

}  // namespace example
