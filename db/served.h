// The decisions for one GPU as an application needs them: many sizes, few kernels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "db/trial.h"

namespace mmtune {

/// What decisions of equal source share.
struct ServedKernel {
  std::string family;
  std::string config;
  std::string source_hash;
  Binary binary;  ///< the binary without image; `hash` is empty where no machine code is stored
};

struct ServedSize {
  Problem problem;
  Evidence evidence = Evidence::measured;
  double median_us = 0;
  double cublas_ratio = 0;  ///< how many times as long cuBLAS takes; 0: unknown
  std::size_t kernel = 0;   ///< a number in ServedDecisions::kernels
};

/// What a kernel took for a size, decided for it or not.
struct ServedTime {
  Problem problem;
  double median_us = 0;
  std::size_t kernel = 0;  ///< a number in ServedDecisions::kernels
};

struct ServedDecisions {
  std::vector<ServedKernel> kernels;  ///< the kernels, each for one precision, layout and alignment
  std::vector<ServedSize> sizes;      ///< the sizes, by precision, layout, m, n, k; measured before predicted
  std::vector<ServedTime> times;  ///< the kernels' measured times, or the predicted ones of those that only won such
};

}  // namespace mmtune
