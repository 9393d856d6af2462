// A call of cublasLtMatmul, from its descriptors.
#pragma once

#include <variant>

#include "preload/product.h"

namespace mmtune {

/// The arguments of cublasLtMatmul that say what is computed.
struct LtCall {
  void* desc;
  const void* alpha;
  const void* a;
  void* a_layout;
  const void* b;
  void* b_layout;
  const void* beta;
  const void* c;
  void* c_layout;
  void* d;
  void* d_layout;
};

struct LtProduct {
  BlasProduct product;
  BlasMode mode;
};

/// The call as cublasSgemm and the like would have it, D in the place of C, or why they could not. Descriptors are read
/// by functions of cuBLASLt itself.
std::variant<LtProduct, Passed> product_of(const LtCall& call);

}  // namespace mmtune
