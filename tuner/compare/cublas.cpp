#include "tuner/compare/cublas.h"

#include <fmt/format.h>
#include <mmtune/error.h>

namespace mmtune {

std::vector<std::string> cublas_candidates(const std::string& name, const std::vector<std::string>& directories) {
  std::vector<std::string> candidates;
  for (const std::string& directory : directories) {
    for (const int version : {13, 12}) candidates.push_back(fmt::format("{}/{}.so.{}", directory, name, version));
  }
  for (const int version : {13, 12}) candidates.push_back(fmt::format("{}.so.{}", name, version));
  return candidates;
}

}  // namespace mmtune

#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>)

#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "runtime/base/dynamic_library.h"
#include "runtime/gpu/arguments.h"
#include "templates/problem/dtype.h"

namespace mmtune {
namespace {

/// The bytes that the libraries may use.
struct Workspace {
  std::size_t cublas = std::size_t{32} << 20;  ///< the bytes that it takes itself on compute capability 9
  std::size_t cublaslt = std::size_t{64} << 20;
};
constexpr Workspace kStarved{1024, 1024};
constexpr int kAlgorithms = 16;
// An algorithm of cublasGemmEx from version 13 on: it times its algorithms at the first call and keeps the fastest.
constexpr auto kAutotune = static_cast<cublasGemmAlgo_t>(999);

// clang-format off
#define MMTUNE_CUBLAS_FUNCTIONS(X)                                                                      \
  X(cublasCreate_v2) X(cublasDestroy_v2) X(cublasSetStream_v2) X(cublasSetWorkspace_v2)                 \
  X(cublasGetVersion_v2) X(cublasGetStatusString)
#define MMTUNE_CUBLASLT_FUNCTIONS(X)                                                                    \
  X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtMatmul) X(cublasLtMatmulAlgoGetHeuristic)              \
  X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute)            \
  X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy)                                          \
  X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy)                                  \
  X(cublasLtMatmulPreferenceSetAttribute)
// clang-format on

/// cublas_api.h overloads the name for C++, so that its type has to be written out.
using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                              const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                              cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);

/// The entry points by their names in the headers.
struct Api {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared name cannot stand in parentheses
#define MMTUNE_CUBLAS_MEMBER(name) decltype(&::name) name = nullptr;
  MMTUNE_CUBLAS_FUNCTIONS(MMTUNE_CUBLAS_MEMBER)
  MMTUNE_CUBLASLT_FUNCTIONS(MMTUNE_CUBLAS_MEMBER)
#undef MMTUNE_CUBLAS_MEMBER
  GemmEx* cublasGemmEx = nullptr;
  std::string path;  ///< the path of libcublas
};

DynamicLibrary open_library(const std::string& name, const std::vector<std::string>& directories) {
  return DynamicLibrary::open(name, cublas_candidates(name, directories),
                              "install cuBLAS 12 or 13 (part of the CUDA toolkit, or pip install nvidia-cublas) and "
                              "set MMTUNE_CUDA_PATH to its directory, or compare with --vs naive");
}

Api load_api(const std::vector<std::string>& directories) {
  // cuBLAS needs cuBLASLt and finds it already loaded, wherever that lies.
  const DynamicLibrary lt = open_library("libcublasLt", directories);
  const DynamicLibrary blas = open_library("libcublas", directories);
  Api api;
  api.path = blas.path();
#define MMTUNE_CUBLAS_LOAD(name) api.name = reinterpret_cast<decltype(&::name)>(blas.require(#name));
  MMTUNE_CUBLAS_FUNCTIONS(MMTUNE_CUBLAS_LOAD)
#undef MMTUNE_CUBLAS_LOAD
#define MMTUNE_CUBLASLT_LOAD(name) api.name = reinterpret_cast<decltype(&::name)>(lt.require(#name));
  MMTUNE_CUBLASLT_FUNCTIONS(MMTUNE_CUBLASLT_LOAD)
#undef MMTUNE_CUBLASLT_LOAD
  api.cublasGemmEx = reinterpret_cast<GemmEx*>(blas.require("cublasGemmEx"));
  return api;
}

void check(const Api& api, cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(fmt::format("{} failed: {}", call, api.cublasGetStatusString(status)));
}

/// What the libraries call a precision's operands, arithmetic and scalars.
struct Types {
  Precision precision;
  cudaDataType a, b, c;
  cublasComputeType_t compute;
  cudaDataType scalar;
};

// A precision without a row is one that the libraries do not have. fp8 is summed as ours is, with promotion to fp32:
// CUBLASLT_MATMUL_DESC_FAST_ACCUM is off unless asked for.
constexpr std::array kTypes{
    Types{Precision::fp32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    Types{Precision::fp64, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F},
    Types{Precision::fp16, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    Types{Precision::bf16, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    Types{Precision::fp16_fp32, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    Types{Precision::bf16_fp32, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    Types{Precision::tf32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F},
    Types{Precision::int8, CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I},
    Types{Precision::e4m3_bf16, CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    Types{Precision::e4m3_fp32, CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
    Types{Precision::fp32_emulated, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
};

const Types* types_of(Precision precision) {
  const auto* const row =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Types& types) { return types.precision == precision; });
  return row == kTypes.end() ? nullptr : &*row;
}

ScalarArgument scalar_of(const Types& types, double value) { return {traits(types.precision).scalar, value}; }

cublasOperation_t operation(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

template <class T>
using Owner = std::unique_ptr<T, cublasStatus_t (*)(T*)>;

/// create() fills in the raw pointer that `destroy` frees.
template <class T, class Create>
Owner<T> own(const Api& api, cublasStatus_t (*destroy)(T*), std::string_view call, const Create& create) {
  T* raw = nullptr;
  check(api, create(&raw), call);
  return Owner<T>(raw, destroy);
}

/// Descriptors of one product for cublasLt, and the algorithms that its heuristic proposes.
class LtProduct {
 public:
  LtProduct(const Api& api, cublasLtHandle_t handle, const Problem& problem, const Types& types, void* workspace,
            std::size_t workspace_bytes)
      : api_(api),
        handle_(handle),
        types_(types),
        workspace_(workspace),
        workspace_bytes_(workspace_bytes),
        product_(own(api, api.cublasLtMatmulDescDestroy, "cublasLtMatmulDescCreate",
                     [&](auto* raw) { return api.cublasLtMatmulDescCreate(raw, types.compute, types.scalar); })),
        first_(layout(stored_b(problem), types.b)),
        second_(layout(stored_a(problem), types.a)),
        result_(layout(stored_c(problem), types.c)) {
    transpose(CUBLASLT_MATMUL_DESC_TRANSA, transposes_b(problem.layout));
    transpose(CUBLASLT_MATMUL_DESC_TRANSB, transposes_a(problem.layout));
    propose();
  }

  int algorithms() const { return count_; }

  void enqueue(int algorithm, const Operands& operands, CUstream stream) const {
    ScalarArgument alpha = scalar_of(types_, operands.alpha), beta = scalar_of(types_, operands.beta);
    check(api_,
          api_.cublasLtMatmul(handle_, product_.get(), alpha.address(), pointer(operands.b), first_.get(),
                              pointer(operands.a), second_.get(), beta.address(), pointer(operands.c), result_.get(),
                              pointer(operands.c), result_.get(), &proposals_[static_cast<std::size_t>(algorithm)].algo,
                              workspace_, workspace_bytes_, stream),
          "cublasLtMatmul");
  }

 private:
  using Layout = Owner<std::remove_pointer_t<cublasLtMatrixLayout_t>>;

  /// Rows of ours are columns of theirs.
  Layout layout(const StoredShape& shape, cudaDataType element) const {
    return own(api_, api_.cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutCreate", [&](auto* raw) {
      return api_.cublasLtMatrixLayoutCreate(raw, element, static_cast<std::uint64_t>(shape.columns),
                                             static_cast<std::uint64_t>(shape.rows), shape.columns);
    });
  }

  void transpose(cublasLtMatmulDescAttributes_t operand, bool transposed) {
    const cublasOperation_t value = operation(transposed);
    check(api_, api_.cublasLtMatmulDescSetAttribute(product_.get(), operand, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }

  void propose() {
    const auto preference = own(api_, api_.cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceCreate",
                                [&](auto* raw) { return api_.cublasLtMatmulPreferenceCreate(raw); });
    check(api_,
          api_.cublasLtMatmulPreferenceSetAttribute(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                    &workspace_bytes_, sizeof workspace_bytes_),
          "cublasLtMatmulPreferenceSetAttribute");
    const cublasStatus_t status =
        api_.cublasLtMatmulAlgoGetHeuristic(handle_, product_.get(), first_.get(), second_.get(), result_.get(),
                                            result_.get(), preference.get(), kAlgorithms, proposals_.data(), &count_);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
      count_ = 0;  // There is no algorithm for this product, which is an answer.
    } else {
      check(api_, status, "cublasLtMatmulAlgoGetHeuristic");
    }
  }

  const Api& api_;
  cublasLtHandle_t handle_;
  Types types_;
  void* workspace_;
  std::size_t workspace_bytes_;
  Owner<std::remove_pointer_t<cublasLtMatmulDesc_t>> product_;
  Layout first_;   ///< the layout of B, which comes first in the transposed product
  Layout second_;  ///< the layout of A
  Layout result_;
  std::array<cublasLtMatmulHeuristicResult_t, kAlgorithms> proposals_{};
  int count_ = 0;
};

class CublasOpponent final : public Opponent {
 public:
  CublasOpponent(Api api, const Workspace& bytes)
      : api_(std::move(api)),
        bytes_(bytes),
        workspace_(std::max(bytes.cublas, bytes.cublaslt)),
        blas_(own(api_, api_.cublasDestroy_v2, "cublasCreate", [&](auto* raw) { return api_.cublasCreate_v2(raw); })),
        lt_(own(api_, api_.cublasLtDestroy, "cublasLtCreate", [&](auto* raw) { return api_.cublasLtCreate(raw); })) {}

  std::string_view name() const override { return "cublas"; }

  std::string description() const override {
    int version = 0;
    check(api_, api_.cublasGetVersion_v2(blas_.get(), &version), "cublasGetVersion");
    return fmt::format("cuBLAS {}.{}.{}, {}", version / 10000, version / 100 % 100, version % 100, api_.path);
  }

  std::vector<std::string> entries() const override { return {"cublas", "cublaslt"}; }

  std::vector<std::vector<Call>> prepare(const Problem& problem) override {
    product_.reset();
    const Types* const types = types_of(problem.precision);
    if (!types) return {{}, {}};
    product_.emplace(api_, lt_.get(), problem, *types, pointer(workspace_.address()), bytes_.cublaslt);
    std::vector<Call> algorithms;
    for (int i = 0; i < product_->algorithms(); ++i) {
      algorithms.push_back(
          [this, i](const Operands& operands, CUstream stream) { product_->enqueue(i, operands, stream); });
    }
    const auto gemm = [&](cublasGemmAlgo_t algorithm) -> Call {
      return [this, problem, types = *types, algorithm](const Operands& operands, CUstream stream) {
        use(stream);
        enqueue(problem, types, algorithm, operands);
      };
    };
    return {{gemm(CUBLAS_GEMM_DEFAULT), gemm(kAutotune)}, std::move(algorithms)};
  }

 private:
  /// Calls use a workspace of ours: cuBLAS's own would become allocations inside a captured graph. Changing the stream
  /// makes cuBLAS forget it.
  void use(CUstream stream) {
    if (stream_ == stream) return;
    check(api_, api_.cublasSetStream_v2(blas_.get(), stream), "cublasSetStream");
    check(api_, api_.cublasSetWorkspace_v2(blas_.get(), pointer(workspace_.address()), bytes_.cublas),
          "cublasSetWorkspace");
    stream_ = stream;
  }

  void enqueue(const Problem& problem, const Types& types, cublasGemmAlgo_t algorithm, const Operands& operands) const {
    ScalarArgument alpha = scalar_of(types, operands.alpha), beta = scalar_of(types, operands.beta);
    const auto extent = [](std::int64_t value) { return static_cast<int>(value); };
    check(api_,
          api_.cublasGemmEx(blas_.get(), operation(transposes_b(problem.layout)),
                            operation(transposes_a(problem.layout)), extent(problem.n), extent(problem.m),
                            extent(problem.k), alpha.address(), pointer(operands.b), types.b, extent(operands.ld.b),
                            pointer(operands.a), types.a, extent(operands.ld.a), beta.address(), pointer(operands.c),
                            types.c, extent(operands.ld.c), types.compute, algorithm),
          "cublasGemmEx");
  }

  Api api_;
  Workspace bytes_;
  DeviceBuffer workspace_;  ///< All calls share it: they run one after the other.
  Owner<std::remove_pointer_t<cublasHandle_t>> blas_;
  Owner<std::remove_pointer_t<cublasLtHandle_t>> lt_;
  CUstream stream_ = nullptr;
  std::optional<LtProduct> product_;
};

}  // namespace

std::unique_ptr<Opponent> make_cublas_opponent(const std::vector<std::string>& directories, bool starved) {
  return std::make_unique<CublasOpponent>(load_api(directories), starved ? kStarved : Workspace{});
}

}  // namespace mmtune

#else

namespace mmtune {

std::unique_ptr<Opponent> make_cublas_opponent(const std::vector<std::string>&, bool) {
  throw DeviceError(
      "cuBLAS: mmtune was built without its headers (cublas_v2.h, cublasLt.h); install the toolkit's cuBLAS "
      "development package and build again, or compare with --vs naive");
}

}  // namespace mmtune

#endif
