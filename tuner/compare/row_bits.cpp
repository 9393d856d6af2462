#include "tuner/compare/row_bits.h"

#include <cstring>

#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

constexpr std::int64_t kPadding = 1;  ///< elements: the pitch that suits the fewest kernels

std::size_t bytes_of(const StoredShape& shape, std::int64_t padding, const FormatTraits& format) {
  return static_cast<std::size_t>(shape.rows * (shape.columns + padding) * format.bytes);
}

}  // namespace

RowBits::RowBits(const CheckKernels& kernels, const Problem& all)
    : kernels_(kernels),
      all_(all),
      stream_(make_stream()),
      a_(bytes_of(stored_a(all), 0, traits(all.precision).a)),
      padded_a_(bytes_of(stored_a(all), kPadding, traits(all.precision).a)),
      b_(bytes_of(stored_b(all), 0, traits(all.precision).b)),
      c_(bytes_of(stored_c(all), kPadding, traits(all.precision).c)) {
  fill(Fill::uniform);
  const StoredShape a = stored_a(all);
  const std::int64_t bytes = traits(all.precision).a.bytes;
  MMTUNE_CUDA(cuMemsetD8Async(padded_a_.address(), 0xff, padded_a_.bytes(), stream_.get()));
  for (std::int64_t row = 0; row < a.rows; ++row) {
    MMTUNE_CUDA(cuMemcpyDtoDAsync(padded_a_.address() + static_cast<CUdeviceptr>(row * (a.columns + kPadding) * bytes),
                                  a_.address() + static_cast<CUdeviceptr>(row * a.columns * bytes),
                                  static_cast<std::size_t>(a.columns * bytes), stream_.get()));
  }
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
}

void RowBits::fill(Fill fill) {
  const StoredShape a = stored_a(all_), b = stored_b(all_);
  kernels_.fill(Role::a, a_.address(), a.rows * a.columns, 1, fill, stream_.get());
  kernels_.fill(Role::b, b_.address(), b.rows * b.columns, 2, fill, stream_.get());
}

std::vector<std::byte> RowBits::rows(const Way& way, const RowProduct& multiply) const {
  const PrecisionTraits& types = traits(all_.precision);
  const bool transposed = transposes_a(all_.layout);
  const std::int64_t lda = stored_a(all_).columns + way.padding;
  const std::int64_t ldc = all_.n + way.padding;
  Problem problem = all_;
  problem.m = way.m;
  const DeviceBuffer& a = way.padding > 0 ? padded_a_ : a_;
  Operands operands{};
  operands.a = a.address() + static_cast<CUdeviceptr>(way.first * (transposed ? 1 : lda) * types.a.bytes);
  operands.b = b_.address();
  operands.c = c_.address();
  operands.ld = {lda, packed_leading_dimensions(all_).b, ldc};
  operands.alpha = 1;
  problem.align = alignment_of(problem, operands.ld, {operands.a, operands.b, operands.c});
  RowBatch batch = way.batch;
  batch.step_a = way.m * (transposed ? 1 : lda);
  batch.step_c = way.m * ldc;
  MMTUNE_CUDA(cuMemsetD8Async(c_.address(), 0xff, c_.bytes(), stream_.get()));
  if (!multiply(problem, operands, batch, stream_.get())) return {};
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));

  const auto row_bytes = static_cast<std::size_t>(all_.n * types.c.bytes);
  const auto pitch = static_cast<std::size_t>(ldc * types.c.bytes);
  const auto count = static_cast<std::size_t>(way.m * batch.count);
  std::vector<std::byte> pitched(count * pitch), packed(count * row_bytes);
  MMTUNE_CUDA(cuMemcpyDtoH(pitched.data(), c_.address(), pitched.size()));
  for (std::size_t row = 0; row < count; ++row) {
    std::memcpy(&packed[row * row_bytes], &pitched[row * pitch], row_bytes);
  }
  return packed;
}

std::vector<RowBits::Way> RowBits::ways(std::int64_t m) const {
  std::vector<Way> ways = {{"first rows", m, 0, 0, {}}, {"pitch", m, 0, kPadding, {}}};
  if (m < all_.m) ways.push_back({"last rows", m, all_.m - m, 0, {}});
  if (2 * m <= all_.m) ways.push_back({"batch", m, 0, 0, {.count = 2}});
  return ways;
}

std::vector<BitsRow> RowBits::compare(const std::string& name, std::int64_t m, const RowProduct& multiply) {
  const std::vector<std::byte> expected = rows({"all", all_.m, 0, 0, {}}, multiply);
  const auto row_bytes = static_cast<std::size_t>(all_.n * traits(all_.precision).c.bytes);
  std::vector<BitsRow> found;
  if (expected.empty()) return found;
  for (const Way& way : ways(m)) {
    const std::vector<std::byte> got = rows(way, multiply);
    if (got.empty()) continue;
    BitsRow& row = found.emplace_back();
    row.product = name;
    row.problem = all_;
    row.problem.m = m;
    row.what = way.what;
    row.rows = m * way.batch.count;
    for (std::int64_t i = 0; i < row.rows; ++i) {
      const auto at = static_cast<std::size_t>(i) * row_bytes;
      const auto reference = static_cast<std::size_t>(way.first + i) * row_bytes;
      if (std::memcmp(&got[at], &expected[reference], row_bytes) != 0) ++row.different;
    }
  }
  return found;
}

std::optional<BitsRow> RowBits::ones(const std::string& name, std::int64_t m, const RowProduct& multiply) {
  fill(Fill::ones);
  Problem problem = all_;
  problem.m = m;
  const auto elements = static_cast<std::size_t>(m * all_.n);
  const DeviceBuffer exact(elements * sizeof(double)), magnitude(elements * sizeof(float));
  kernels_.reference_sums(problem, a_.address(), b_.address(), exact.address(), magnitude.address(), stream_.get());
  const bool is_there = !rows({"ones", m, 0, 0, {}}, multiply).empty();
  fill(Fill::uniform);
  if (!is_there) return std::nullopt;
  BitsRow row{name, problem, "ones", m, 0};
  const auto wrong_rows = [&](std::int64_t first, std::int64_t count) {
    Problem part = problem;
    part.m = count;
    const auto at = static_cast<CUdeviceptr>(first) * static_cast<CUdeviceptr>(all_.n);
    const auto beyond = [at](const DeviceBuffer& buffer, std::size_t bytes) { return buffer.address() + at * bytes; };
    const PrecisionTraits& types = traits(all_.precision);
    return kernels_
        .compare(part, 1, 0, beyond(exact, types.accumulator.integer ? 4 : 8), beyond(magnitude, sizeof(float)), 0,
                 beyond(c_, static_cast<std::size_t>(types.c.bytes)), all_.n, ErrorBound{}, stream_.get())
        .wrong;
  };
  if (wrong_rows(0, m) == 0) return row;
  for (std::int64_t i = 0; i < m; ++i) row.different += wrong_rows(i, 1) > 0 ? 1 : 0;
  return row;
}

Table bits_table(const std::vector<BitsRow>& rows) {
  Table table({left("product", Fit::shared), left("precision", Fit::shared), left("layout", Fit::shared), right("m"),
               right("n"), right("k"), left("what"), right("rows"), right("different"), left("summation", Fit::spare)});
  for (const BitsRow& row : rows) {
    const Problem& p = row.problem;
    table.add({row.product, to_string(p.precision), to_string(p.layout), p.m, p.n, p.k, row.what, row.rows,
               row.different, row.summation});
  }
  return table;
}

}  // namespace mmtune
