#include "runtime/call/gemm_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/gpu/arguments.h"
#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

constexpr auto is_known = [](const auto& all, auto value) {
  return std::find(all.begin(), all.end(), value) != all.end();
};

void check_formats(const Gemm& call) {
  if (!is_known(kAllPrecisions, call.precision)) {
    throw UsageError(fmt::format("precision = {}: unknown; use a mmtune::Precision", static_cast<int>(call.precision)));
  }
  if (!is_known(kAllLayouts, call.layout)) {
    throw UsageError(fmt::format("layout = {}: unknown; use a mmtune::Layout", static_cast<int>(call.layout)));
  }
  if (call.order != Order::row_major && call.order != Order::column_major) {
    throw UsageError(fmt::format("order = {}: unknown; use a mmtune::Order", static_cast<int>(call.order)));
  }
}

void check_extent(std::string_view name, std::int64_t value) {
  if (value < 0) throw UsageError(fmt::format("{} = {}: an extent cannot be negative", name, value));
  if (value > Problem::kMostExtent) {
    throw UsageError(fmt::format("{} = {}: extents go up to {}", name, value, Problem::kMostExtent));
  }
}

/// A matrix as the caller names it.
struct Given {
  std::string_view name;  ///< the argument of its address, as "a"; that of the leading dimension is "lda"
  const void* address;
  std::int64_t ld;
  std::int64_t stride;
  std::span<const void* const> addresses;
};

/// The place of a matrix of a checked call in memory.
struct Placed {
  std::int64_t ld = 0;
  std::uintptr_t address = 0;
  std::uintptr_t step_bytes = 0;
  std::uintptr_t low_bits = 0;  ///< the bits of all addresses together: aligned to what all are aligned to
};

std::int64_t leading_dimension(const Given& given, const StoredShape& shape, Order order) {
  const std::string_view line = order == Order::row_major ? "row" : "column";
  const std::int64_t length = std::max<std::int64_t>(1, shape.columns);
  const std::int64_t distance = given.ld == 0 ? length : given.ld;
  if (distance < length) {
    throw UsageError(
        fmt::format("ld{} = {}: less than the {} elements of a stored {}; 0 stands for {}s without padding", given.name,
                    given.ld, length, line, line));
  }
  if (!can_exist(shape.rows, distance)) {
    throw UsageError(fmt::format("ld{} = {}: {} {}s of so many elements are more than any memory has", given.name,
                                 distance, shape.rows, line));
  }
  return distance;
}

std::uintptr_t address(std::string_view name, const void* pointer, bool needed, const FormatTraits& format,
                       Precision precision) {
  const auto value = reinterpret_cast<std::uintptr_t>(pointer);
  if (needed && value == 0) throw UsageError(fmt::format("{}: null pointer; pass device memory", name));
  if (value % static_cast<std::uintptr_t>(format.bytes) == 0) return value;
  throw UsageError(fmt::format("{} = {}: not aligned to the {} bytes of an {} element", name, fmt::ptr(pointer),
                               format.bytes, to_string(precision)));
}

void check_stride(const Given& given, std::int64_t batch) {
  if (given.stride < 0) {
    throw UsageError(fmt::format("stride_{} = {}: a stride cannot be negative", given.name, given.stride));
  }
  if (can_exist(std::max<std::int64_t>(1, batch), given.stride)) return;
  throw UsageError(fmt::format("stride_{} = {}: {} matrices so far apart are more than any memory has", given.name,
                               given.stride, batch));
}

/// Throws unless the results lie one behind the other, or beside each other within the rows.
void check_results_apart(const Given& c, const StoredShape& shape, std::int64_t ld, std::int64_t batch) {
  if (batch < 2 || shape.rows == 0 || shape.columns == 0) return;
  const bool are_behind = c.stride >= (shape.rows - 1) * ld + shape.columns;
  const bool are_beside = c.stride >= shape.columns && (batch - 1) * c.stride + shape.columns <= ld;
  if (are_behind || are_beside) return;
  throw UsageError(fmt::format("stride_c = {}: the {} products would overlap; each takes {} elements", c.stride, batch,
                               (shape.rows - 1) * ld + shape.columns));
}

Placed place(const Given& given, const StoredShape& shape, const FormatTraits& format, bool needed, const Gemm& call) {
  Placed placed;
  placed.ld = leading_dimension(given, shape, call.order);
  if (!given.addresses.empty()) {
    for (const void* each : given.addresses) {
      placed.low_bits |= address(given.name, each, needed, format, call.precision);
    }
    return placed;
  }
  placed.address = address(given.name, given.address, needed, format, call.precision);
  if (call.batch > 1) {
    check_stride(given, call.batch);
    placed.step_bytes = static_cast<std::uintptr_t>(given.stride) * static_cast<std::uintptr_t>(format.bytes);
  }
  placed.low_bits = placed.address | placed.step_bytes;
  return placed;
}

/// A column-major matrix is the row-major matrix of its transpose: C' = op(B)' op(A)', and op() stays what it was.
Layout exchanged(Layout layout) { return layout_of(transposes_b(layout), transposes_a(layout)); }

/// The bias of the row-major C.
Bias exchanged(Bias bias) {
  if (bias == Bias::none) return bias;
  return bias == Bias::per_row ? Bias::per_column : Bias::per_row;
}

void check_epilogue(const Epilogue& epilogue, const FormatTraits& format, Precision precision) {
  if (!is_known(kAllActivations, epilogue.activation)) {
    throw UsageError(fmt::format("epilogue.activation = {}: unknown; use a mmtune::Activation",
                                 static_cast<int>(epilogue.activation)));
  }
  if (!is_known(kAllBiases, epilogue.bias)) {
    throw UsageError(fmt::format("epilogue.bias = {}: unknown; use a mmtune::Bias", static_cast<int>(epilogue.bias)));
  }
  if (epilogue.activation == Activation::gelu && format.integer) {
    throw UsageError(
        fmt::format("epilogue.activation = gelu: {} has integers as results; use relu or none", to_string(precision)));
  }
  if (epilogue.bias == Bias::none && epilogue.bias_vector != nullptr) {
    throw UsageError("epilogue.bias_vector: given, but epilogue.bias is none; say per_row or per_column");
  }
}

/// Whether alpha and beta are in device memory.
bool loads_scalars(const Gemm& call) {
  if ((call.device_alpha == nullptr) != (call.device_beta == nullptr)) {
    throw UsageError(fmt::format("device_{}: null pointer, but device_{} is given; pass both or none",
                                 call.device_alpha == nullptr ? "alpha" : "beta",
                                 call.device_alpha == nullptr ? "beta" : "alpha"));
  }
  return call.device_alpha != nullptr;
}

std::int64_t checked_batch(std::int64_t batch) {
  if (batch < 0) throw UsageError(fmt::format("batch = {}: a number of products cannot be negative", batch));
  return batch;
}

GemmCall check_call(const Gemm& call, CallPurpose purpose, const GemmPointers& pointers) {
  check_formats(call);
  check_extent("m", call.m);
  check_extent("n", call.n);
  check_extent("k", call.k);
  const bool by_rows = call.order == Order::row_major;
  const std::int64_t batch = checked_batch(call.batch);
  Problem problem = by_rows ? Problem{call.precision, call.layout, call.m, call.n, call.k, {}}
                            : Problem{call.precision, exchanged(call.layout), call.n, call.m, call.k, {}};
  Given a{"a", call.a, call.lda, call.stride_a, pointers.a};
  Given b{"b", call.b, call.ldb, call.stride_b, pointers.b};
  const Given c{"c", call.c, call.ldc, call.stride_c, {pointers.c.data(), pointers.c.size()}};
  if (!by_rows) std::swap(a, b);

  const bool writes = purpose == CallPurpose::run && !is_empty(problem, batch);
  const bool loads = loads_scalars(call);
  if (!loads) check_scalars(call.precision, call.alpha, call.beta);
  const bool reads = writes && call.k > 0 && (loads || call.alpha != 0);
  const PrecisionTraits& types = traits(call.precision);
  const Placed at_a = place(a, stored_a(problem), types.a, reads, call);
  const Placed at_b = place(b, stored_b(problem), types.b, reads, call);
  const Placed at_c = place(c, stored_c(problem), types.c, writes, call);
  if (c.addresses.empty()) check_results_apart(c, stored_c(problem), at_c.ld, call.batch);

  const bool has_bias = call.epilogue.bias != Bias::none;
  check_epilogue(call.epilogue, types.c, call.precision);
  problem.invariant = call.invariant;
  problem.align = alignment_of(problem, {at_a.ld, at_b.ld, at_c.ld}, {at_a.low_bits, at_b.low_bits, at_c.low_bits});
  // It is built in one expression: every call comes here, and filling it with zeros first takes a tenth of a look-up.
  return {problem,
          {at_a.address,
           at_b.address,
           at_c.address,
           {at_a.ld, at_b.ld, at_c.ld},
           loads ? 1 : call.alpha,
           loads ? 1 : call.beta,
           reinterpret_cast<CUdeviceptr>(call.workspace),
           address("epilogue.bias_vector", call.epilogue.bias_vector, writes && has_bias, types.c, call.precision),
           address("device_alpha", call.device_alpha, false, types.scalar, call.precision),
           address("device_beta", call.device_beta, false, types.scalar, call.precision)},
          batch,
          {at_a.step_bytes, at_b.step_bytes, at_c.step_bytes},
          {call.epilogue.activation, by_rows ? call.epilogue.bias : exchanged(call.epilogue.bias), loads,
           batch > 1 && c.addresses.empty()},
          {a.addresses, b.addresses, pointers.c}};
}

}  // namespace

GemmCall check_call(const Gemm& call, CallPurpose purpose) { return check_call(call, purpose, {}); }

GemmCall check_call(const Gemm& call, const GemmPointers& pointers) {
  const std::size_t count = pointers.c.size();
  for (const auto& [name, size] : {std::pair{"a", pointers.a.size()}, std::pair{"b", pointers.b.size()}}) {
    if (size != count) {
      throw UsageError(fmt::format("pointers.{}: {} addresses for {} products; give one for each", name, size, count));
    }
  }
  Gemm batch = call;
  batch.batch = static_cast<std::int64_t>(count);
  return check_call(batch, CallPurpose::run, pointers);
}

Operands operands_of(const GemmCall& call, std::int64_t number) {
  Operands operands = call.operands;
  if (call.pointers.c.empty()) {
    const auto steps = static_cast<std::uintptr_t>(number);
    operands.a += steps * call.step_bytes.a;
    operands.b += steps * call.step_bytes.b;
    operands.c += steps * call.step_bytes.c;
    return operands;
  }
  const auto index = static_cast<std::size_t>(number);
  operands.a = reinterpret_cast<CUdeviceptr>(call.pointers.a[index]);
  operands.b = reinterpret_cast<CUdeviceptr>(call.pointers.b[index]);
  operands.c = reinterpret_cast<CUdeviceptr>(call.pointers.c[index]);
  return operands;
}

}  // namespace mmtune
