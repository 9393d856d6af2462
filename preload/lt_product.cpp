#include "preload/lt_product.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include "preload/real.h"

namespace mmtune {
namespace {

constinit Real<cublas::LtGetAttribute> real_desc_attribute("cublasLtMatmulDescGetAttribute");
constinit Real<cublas::LtGetAttribute> real_layout_attribute("cublasLtMatrixLayoutGetAttribute");

/// Attributes of one descriptor; after one that cannot be read none counts.
class LtAttributes {
 public:
  LtAttributes(cublas::LtGetAttribute* get, void* descriptor) : get_(get), descriptor_(descriptor) {
    is_good_ = get != nullptr && descriptor != nullptr;
  }

  template <class T>
  T read(int attribute) {
    T value{};
    std::size_t written = 0;
    is_good_ = is_good_ && get_(descriptor_, attribute, &value, sizeof value, &written) == cublas::kSuccess;
    return value;
  }
  bool is_good() const { return is_good_; }

  /// Whether an attribute that older versions of cuBLAS lack is there and not 0.
  bool has(int attribute) const {
    std::int32_t value = 0;
    std::size_t written = 0;
    return is_good_ && get_(descriptor_, attribute, &value, sizeof value, &written) == cublas::kSuccess && value != 0;
  }

 private:
  cublas::LtGetAttribute* get_;
  void* descriptor_;
  bool is_good_;
};

struct LtMatrix {
  BlasMatrix matrix;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int32_t batch = 1;
};

/// Nothing unless columns are contiguous, or where the address is that of an array of addresses.
std::optional<LtMatrix> layout_at(void* descriptor, const void* address) {
  LtAttributes attributes(real_layout_attribute.get(), descriptor);
  if (attributes.read<std::int32_t>(cublas::kLayoutOrder) != cublas::kOrderColumn) return std::nullopt;
  if (attributes.has(cublas::kLayoutBatchMode)) return std::nullopt;
  LtMatrix layout;
  layout.matrix.address = address;
  layout.matrix.type = attributes.read<std::int32_t>(cublas::kLayoutType);
  layout.matrix.ld = attributes.read<std::int64_t>(cublas::kLayoutLd);
  layout.rows = static_cast<std::int64_t>(attributes.read<std::uint64_t>(cublas::kLayoutRows));
  layout.columns = static_cast<std::int64_t>(attributes.read<std::uint64_t>(cublas::kLayoutColumns));
  layout.batch = attributes.read<std::int32_t>(cublas::kLayoutBatchCount);
  if (layout.batch > 1) layout.matrix.stride = attributes.read<std::int64_t>(cublas::kLayoutStride);
  return attributes.is_good() ? std::optional(layout) : std::nullopt;
}

cublas::DataType scalars_of(cublas::ComputeType compute) {
  return compute == cublas::kCompute64F   ? cublas::kR64F
         : compute == cublas::kCompute32I ? cublas::kR32I
                                          : cublas::kR32F;
}

bool is_zero(const void* scalar, cublas::DataType type) {
  const auto value = [&](auto number) {
    std::memcpy(&number, scalar, sizeof number);
    return number == 0;
  };
  return type == cublas::kR64F ? value(double{}) : type == cublas::kR32I ? value(std::int32_t{}) : value(float{});
}

/// The epilogues that both libraries have. GELU of cuBLASLt is the approximation by tanh, which is not that of mmtune.
std::optional<Epilogue> epilogue_of(std::uint32_t number) {
  switch (number) {
    case cublas::kEpilogueNone:
      return Epilogue{};
    case cublas::kEpilogueRelu:
      return Epilogue{.activation = Activation::relu};
    case cublas::kEpilogueBias:
      return Epilogue{.bias = Bias::per_row};
    case cublas::kEpilogueReluBias:
      return Epilogue{.activation = Activation::relu, .bias = Bias::per_row};
    default:
      return std::nullopt;
  }
}

/// C is D, or is not read.
bool is_in_place(const LtCall& call, const LtMatrix& d, cublas::DataType scalars) {
  if (is_zero(call.beta, scalars)) return true;
  if (call.c != call.d) return false;
  if (call.c_layout == call.d_layout) return true;
  const auto c = layout_at(call.c_layout, call.c);
  return c && c->matrix.type == d.matrix.type && c->matrix.ld == d.matrix.ld && c->matrix.stride == d.matrix.stride &&
         c->batch == d.batch;
}

/// Fills in the matrices and their extents; false if they are placed as no other function of cuBLAS has them. The
/// operations must be there.
bool place(const LtCall& call, cublas::DataType scalars, BlasProduct& product) {
  const auto a = layout_at(call.a_layout, call.a);
  const auto b = layout_at(call.b_layout, call.b);
  const auto d = layout_at(call.d_layout, call.d);
  if (!a || !b || !d) return false;
  product.m = d->rows;
  product.n = d->columns;
  product.k = product.transa == cublas::kOpN ? a->columns : a->rows;
  product.batch = d->batch;
  product.a = a->matrix;
  product.b = b->matrix;
  product.c = d->matrix;
  const auto has = [](const LtMatrix& layout, cublas::Operation operation, std::int64_t rows, std::int64_t columns) {
    return operation == cublas::kOpN ? layout.rows == rows && layout.columns == columns
                                     : layout.rows == columns && layout.columns == rows;
  };
  return has(*a, product.transa, product.m, product.k) && has(*b, product.transb, product.k, product.n) &&
         a->batch == d->batch && b->batch == d->batch && is_in_place(call, *d, scalars);
}

/// Fills in the address of a bias; false unless it is one vector of elements as D has them.
bool find_bias(LtAttributes& desc, BlasProduct& product) {
  product.epilogue.bias_vector = desc.read<const void*>(cublas::kDescBias);
  const auto type = desc.read<std::int32_t>(cublas::kDescBiasType);  // -1: the type of D
  return (type < 0 || type == product.c.type) && desc.read<std::int64_t>(cublas::kDescBiasStride) == 0 &&
         product.epilogue.bias_vector != nullptr && desc.is_good();
}

}  // namespace

std::variant<LtProduct, Passed> product_of(const LtCall& call) {
  LtProduct result;
  BlasProduct& product = result.product;
  LtAttributes desc(real_desc_attribute.get(), call.desc);
  const auto epilogue = epilogue_of(desc.read<std::uint32_t>(cublas::kDescEpilogue));
  if (!desc.is_good() || !epilogue) return Passed::epilogue;
  product.epilogue = *epilogue;
  result.mode.pointers = desc.read<std::int32_t>(cublas::kDescPointerMode);
  product.compute = desc.read<std::int32_t>(cublas::kDescComputeType);
  product.alpha = call.alpha;
  product.beta = call.beta;
  const cublas::DataType scalars = scalars_of(product.compute);
  if (result.mode.pointers != cublas::kPointersOfHost || desc.read<std::int32_t>(cublas::kDescScaleType) != scalars ||
      call.alpha == nullptr || call.beta == nullptr) {
    return Passed::scalars;
  }
  product.transa = desc.read<std::int32_t>(cublas::kDescTransA);
  product.transb = desc.read<std::int32_t>(cublas::kDescTransB);
  if (desc.read<std::int32_t>(cublas::kDescTransC) != cublas::kOpN ||
      desc.read<std::int32_t>(cublas::kDescFillMode) != cublas::kFillFull ||
      desc.read<std::int32_t>(cublas::kDescSmCountTarget) != 0 || !desc.is_good() || !place(call, scalars, product)) {
    return Passed::placement;
  }
  if (product.epilogue.bias != Bias::none && !find_bias(desc, product)) return Passed::epilogue;
  return result;
}

}  // namespace mmtune
