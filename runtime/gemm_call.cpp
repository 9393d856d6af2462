#include "runtime/gemm_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "templates/dtype.h"

namespace mmtune {

namespace {

void check_formats(const Gemm& call) {
  const auto known = [](const auto& all, auto value) { return std::find(all.begin(), all.end(), value) != all.end(); };
  if (!known(kAllPrecisions, call.precision)) {
    throw UsageError(fmt::format("precision = {}: unknown; use a mmtune::Precision", static_cast<int>(call.precision)));
  }
  if (!known(kAllLayouts, call.layout)) {
    throw UsageError(fmt::format("layout = {}: unknown; use a mmtune::Layout", static_cast<int>(call.layout)));
  }
}

void check_extent(std::string_view name, std::int64_t value) {
  if (value < 0) throw UsageError(fmt::format("{} = {}: an extent cannot be negative", name, value));
  if (value > Problem::kMostExtent) {
    throw UsageError(fmt::format("{} = {}: extents go up to {}", name, value, Problem::kMostExtent));
  }
}

std::int64_t leading_dimension(std::string_view name, std::int64_t given, const StoredShape& shape) {
  const std::int64_t row = std::max<std::int64_t>(1, shape.columns);
  const std::int64_t distance = given == 0 ? row : given;
  if (distance < row) {
    throw UsageError(fmt::format(
        "{} = {}: less than the {} elements of a stored row; 0 stands for rows without padding", name, given, row));
  }
  if (!can_exist(shape.rows, distance)) {
    throw UsageError(
        fmt::format("{} = {}: {} rows of so many elements are more than any memory has", name, distance, shape.rows));
  }
  return distance;
}

CUdeviceptr address(std::string_view name, const void* pointer, bool needed, const FormatTraits& format,
                    Precision precision) {
  const auto value = reinterpret_cast<std::uintptr_t>(pointer);
  if (needed && value == 0) throw UsageError(fmt::format("{}: null pointer; pass device memory", name));
  if (value % static_cast<std::uintptr_t>(format.bytes) == 0) return value;
  throw UsageError(fmt::format("{} = {}: not aligned to the {} bytes of an {} element", name, fmt::ptr(pointer),
                               format.bytes, to_string(precision)));
}

}  // namespace

GemmCall check_call(const Gemm& call, CallPurpose purpose) {
  check_formats(call);
  check_extent("m", call.m);
  check_extent("n", call.n);
  check_extent("k", call.k);
  GemmCall checked;
  checked.problem = {call.precision, call.layout, call.m, call.n, call.k, {}};
  const Problem& problem = checked.problem;
  const bool writes = purpose == CallPurpose::run && !checked.empty();
  const bool reads = writes && call.k > 0 && call.alpha != 0;
  Operands& operands = checked.operands;
  operands.ld = {leading_dimension("lda", call.lda, stored_a(problem)),
                 leading_dimension("ldb", call.ldb, stored_b(problem)),
                 leading_dimension("ldc", call.ldc, stored_c(problem))};
  const PrecisionTraits& types = traits(call.precision);
  operands.a = address("a", call.a, reads, types.a, call.precision);
  operands.b = address("b", call.b, reads, types.b, call.precision);
  operands.c = address("c", call.c, writes, types.c, call.precision);
  operands.alpha = call.alpha;
  operands.beta = call.beta;
  operands.workspace = reinterpret_cast<CUdeviceptr>(call.workspace);
  checked.problem.align = alignment_of(problem, operands.ld, {operands.a, operands.b, operands.c});
  return checked;
}

}  // namespace mmtune
