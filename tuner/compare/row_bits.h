// Whether rows of a product have the same bits whatever they are multiplied together with: in few rows or many, at
// other places, pitches, or in a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/gpu/driver.h"
#include "runtime/gpu/launch.h"
#include "templates/problem/problem.h"
#include "tuner/measure/check_kernels.h"
#include "tuner/text/report.h"

namespace mmtune {

/// Products whose A and C follow each other by so many elements and whose B is shared.
struct RowBatch {
  std::int64_t count = 1;
  std::int64_t step_a = 0;
  std::int64_t step_c = 0;
};

/// A way to compute products: enqueues as many as the batch says, each of problem.m rows. False where it cannot.
using RowProduct = std::function<bool(const Problem&, const Operands&, const RowBatch&, CUstream)>;

/// How rows were multiplied, beside all of them at once.
struct BitsRow {
  std::string product;  ///< "mmtune", "cublas"
  Problem problem;      ///< the problem; m is the number of rows that were multiplied together
  std::string what;     ///< "first rows", "last rows", "pitch", "batch"; "ones": beside k, as the format of C rounds it
  std::int64_t rows = 0;
  std::int64_t different = 0;  ///< the number of these with at least one other bit
  std::string summation = {};  ///< how mmtune adds; nothing for others
};

/// The rows of op(A), random in [-1, 1], and what becomes of them. The context must be current. Not thread safe.
class RowBits {
 public:
  /// `all` is the product of all rows, packed; `kernels` must outlive this. Throws OutOfMemoryError, DeviceError.
  RowBits(const CheckKernels& kernels, const Problem& all);

  /// Compares the rows of products of `m` rows with the same rows of the product of all. Ways that `multiply` cannot
  /// take are left out. Throws what `multiply` throws.
  std::vector<BitsRow> compare(const std::string& name, std::int64_t m, const RowProduct& multiply);

  /// Whether every element of a product of ones is k: one that leaves out steps along k shows here. Nothing where
  /// `multiply` cannot compute it.
  std::optional<BitsRow> ones(const std::string& name, std::int64_t m, const RowProduct& multiply);

 private:
  struct Way {
    const char* what;
    std::int64_t m, first, padding;
    RowBatch batch;
  };

  /// The bytes of C, row by row without gaps; none where it cannot be computed so.
  std::vector<std::byte> rows(const Way& way, const RowProduct& multiply) const;
  void fill(Fill fill);
  std::vector<Way> ways(std::int64_t m) const;

  const CheckKernels& kernels_;
  Problem all_;
  Stream stream_;
  DeviceBuffer a_, padded_a_, b_, c_;
};

/// CSV and JSON: product,precision,layout,m,n,k,what,rows,different,summation.
Table bits_table(const std::vector<BitsRow>& rows);

}  // namespace mmtune
