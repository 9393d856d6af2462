// The functions of cuBLAS that this library has in their place. Each looks whether mmtune serves the call, and else
// calls the function of that name that comes behind this library, with the arguments as they were.
#include <mmtune/types.h>

#include <atomic>

#include "preload/handle_workspaces.h"
#include "preload/lt_product.h"
#include "preload/product.h"
#include "preload/real.h"
#include "preload/stand_in.h"
#include "preload/taken_calls.h"

namespace mmtune {
namespace {

/// While a thread is in a function of cuBLAS, what that calls by its public names is its own affair.
class Inside {
 public:
  Inside() { ++depth_; }
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static bool is_first() { return depth_ == 1; }

 private:
  static inline thread_local int depth_ = 0;
};

template <class Function, class... Args>
cublas::Status call(Real<Function>& real, Args... args) {
  Function* function = real.get();
  return function == nullptr ? cublas::kNotSupported : function(args...);
}

constinit Real<cublas::GetStream> real_get_stream("cublasGetStream_v2");
constinit Real<cublas::GetPointerMode> real_get_pointer_mode("cublasGetPointerMode_v2");
constinit Real<cublas::GetMathMode> real_get_math_mode("cublasGetMathMode");

/// Whether mmtune has enqueued the product.
bool serve(const BlasProduct& product, const BlasMode& mode, cublas::Stream stream, const WorkspaceOfCall& workspace) {
  StandIn& stand_in = StandIn::instance();
  const auto wanted = translated(product, mode);
  if (const auto* reason = std::get_if<Passed>(&wanted)) {
    stand_in.pass(*reason);
    return false;
  }
  return stand_in.serve(std::get<Gemm>(wanted), static_cast<CUstream>(stream), workspace);
}

bool serve(cublas::Handle handle, const BlasProduct& product) {
  BlasMode mode;
  cublas::Stream stream = nullptr;
  if (call(real_get_pointer_mode, handle, &mode.pointers) != cublas::kSuccess ||
      call(real_get_math_mode, handle, &mode.math) != cublas::kSuccess ||
      call(real_get_stream, handle, &stream) != cublas::kSuccess) {
    return false;  // cuBLAS says that there is no handle.
  }
  return serve(product, mode, stream, {handle});
}

bool serve(const LtCall& lt, void* workspace, std::size_t bytes, cublas::Stream stream) {
  const auto found = product_of(lt);
  if (const auto* reason = std::get_if<Passed>(&found)) {
    StandIn::instance().pass(*reason);
    return false;
  }
  const auto& [product, mode] = std::get<LtProduct>(found);
  return serve(product, mode, stream, {nullptr, {workspace, bytes}});
}

std::atomic<bool> is_paused = false;

/// Whether calls of this thread are to be looked at.
bool is_asked() { return Inside::is_first() && !is_paused.load(std::memory_order_relaxed) && !StandIn::is_in_child(); }

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses, readability-identifier-naming): the names of cuBLAS
#define MMTUNE_HOOK extern "C" __attribute__((visibility("default"))) cublas::Status

/// What a function of cuBLAS does here: `product` is what its arguments ask for.
#define MMTUNE_STAND_IN(Function, name, product, ...)                \
  static constinit Real<cublas::Function> real(#name);               \
  const Inside inside;                                               \
  if (is_asked() && serve(handle, product)) return cublas::kSuccess; \
  return call(real, handle, transa, transb, m, n, k, alpha, A, __VA_ARGS__)

#define MMTUNE_PLAIN(name, Int, type, compute)                                                                  \
  MMTUNE_HOOK name(cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha,       \
                   const void* A, Int lda, const void* B, Int ldb, const void* beta, void* C, Int ldc) {        \
    MMTUNE_STAND_IN(                                                                                            \
        Plain<Int>, name,                                                                                       \
        (BlasProduct{                                                                                           \
            transa, transb, m, n, k, alpha, {A, type, lda}, {B, type, ldb}, beta, {C, type, ldc}, 1, compute}), \
        lda, B, ldb, beta, C, ldc);                                                                             \
  }

#define MMTUNE_STRIDED(name, Int, type, compute)                                                                   \
  MMTUNE_HOOK name(cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha,          \
                   const void* A, Int lda, long long strideA, const void* B, Int ldb, long long strideB,           \
                   const void* beta, void* C, Int ldc, long long strideC, Int batch) {                             \
    const BlasMatrix a{A, type, lda, strideA}, b{B, type, ldb, strideB}, c{C, type, ldc, strideC};                 \
    MMTUNE_STAND_IN(GemmStridedBatched<Int>, name,                                                                 \
                    (BlasProduct{transa, transb, m, n, k, alpha, a, b, beta, c, batch, compute}), lda, strideA, B, \
                    ldb, strideB, beta, C, ldc, strideC, batch);                                                   \
  }

#define MMTUNE_EX(name, Int)                                                                                        \
  MMTUNE_HOOK name(cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha,           \
                   const void* A, int Atype, Int lda, const void* B, int Btype, Int ldb, const void* beta, void* C, \
                   int Ctype, Int ldc, int compute, int algorithm) {                                                \
    MMTUNE_STAND_IN(                                                                                                \
        GemmEx<Int>, name,                                                                                          \
        (BlasProduct{                                                                                               \
            transa, transb, m, n, k, alpha, {A, Atype, lda}, {B, Btype, ldb}, beta, {C, Ctype, ldc}, 1, compute}),  \
        Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc, compute, algorithm);                                        \
  }

#define MMTUNE_STRIDED_EX(name, Int)                                                                                   \
  MMTUNE_HOOK name(cublas::Handle handle, int transa, int transb, Int m, Int n, Int k, const void* alpha,              \
                   const void* A, int Atype, Int lda, long long strideA, const void* B, int Btype, Int ldb,            \
                   long long strideB, const void* beta, void* C, int Ctype, Int ldc, long long strideC, Int batch,     \
                   int compute, int algorithm) {                                                                       \
    const BlasMatrix a{A, Atype, lda, strideA}, b{B, Btype, ldb, strideB}, c{C, Ctype, ldc, strideC};                  \
    MMTUNE_STAND_IN(GemmStridedBatchedEx<Int>, name,                                                                   \
                    (BlasProduct{transa, transb, m, n, k, alpha, a, b, beta, c, batch, compute}), Atype, lda, strideA, \
                    B, Btype, ldb, strideB, beta, C, Ctype, ldc, strideC, batch, compute, algorithm);                  \
  }

MMTUNE_PLAIN(cublasSgemm_v2, int, cublas::kR32F, cublas::kCompute32F)
MMTUNE_PLAIN(cublasSgemm_v2_64, std::int64_t, cublas::kR32F, cublas::kCompute32F)
MMTUNE_PLAIN(cublasDgemm_v2, int, cublas::kR64F, cublas::kCompute64F)
MMTUNE_PLAIN(cublasDgemm_v2_64, std::int64_t, cublas::kR64F, cublas::kCompute64F)
MMTUNE_STRIDED(cublasSgemmStridedBatched, int, cublas::kR32F, cublas::kCompute32F)
MMTUNE_STRIDED(cublasSgemmStridedBatched_64, std::int64_t, cublas::kR32F, cublas::kCompute32F)
MMTUNE_STRIDED(cublasDgemmStridedBatched, int, cublas::kR64F, cublas::kCompute64F)
MMTUNE_STRIDED(cublasDgemmStridedBatched_64, std::int64_t, cublas::kR64F, cublas::kCompute64F)
MMTUNE_EX(cublasGemmEx, int)
MMTUNE_EX(cublasGemmEx_64, std::int64_t)
MMTUNE_STRIDED_EX(cublasGemmStridedBatchedEx, int)
MMTUNE_STRIDED_EX(cublasGemmStridedBatchedEx_64, std::int64_t)

MMTUNE_HOOK cublasLtMatmul(cublas::Handle handle, void* desc, const void* alpha, const void* A, void* Adesc,
                           const void* B, void* Bdesc, const void* beta, const void* C, void* Cdesc, void* D,
                           void* Ddesc, const void* algorithm, void* workspace, std::size_t bytes,
                           cublas::Stream stream) {
  static constinit Real<cublas::LtMatmul> real("cublasLtMatmul");
  const Inside inside;
  if (is_asked() && serve({desc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc}, workspace, bytes, stream)) {
    return cublas::kSuccess;
  }
  return call(real, handle, desc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc, algorithm, workspace, bytes,
              stream);
}

// These two are only looked at: a stream and a handle's end take the workspace back that the program had given.

MMTUNE_HOOK cublasSetStream_v2(cublas::Handle handle, cublas::Stream stream) {
  static constinit Real<cublas::SetStream> real("cublasSetStream_v2");
  const cublas::Status status = call(real, handle, stream);
  if (status == cublas::kSuccess && !StandIn::is_in_child()) set_workspace(handle, {});
  return status;
}

MMTUNE_HOOK cublasSetWorkspace_v2(cublas::Handle handle, void* workspace, std::size_t bytes) {
  static constinit Real<cublas::SetWorkspace> real("cublasSetWorkspace_v2");
  const cublas::Status status = call(real, handle, workspace, bytes);
  if (status == cublas::kSuccess && !StandIn::is_in_child()) {
    set_workspace(handle, {workspace, bytes});
  }
  return status;
}

MMTUNE_HOOK cublasDestroy_v2(cublas::Handle handle) {
  static constinit Real<cublas::Destroy> real("cublasDestroy_v2");
  if (!StandIn::is_in_child()) forget_workspace(handle);
  return call(real, handle);
}

/// How many calls were served and passed on so far, for a program that wants to know: found by dlsym.
extern "C" __attribute__((visibility("default"))) void mmtune_cublas_counts(long long* served, long long* passed) {
  const StandIn::Counts counts = StandIn::is_in_child() ? StandIn::Counts{} : StandIn::instance().counts();
  *served = counts.served;
  *passed = counts.passed;
}

/// Leaves all calls of the process to cuBLAS from now on, uncounted, or no longer: for a program that compares.
extern "C" __attribute__((visibility("default"))) void mmtune_cublas_pause(int pauses) { is_paused = pauses != 0; }

/// take_calls() of all functions above.
extern "C" __attribute__((visibility("default"))) int mmtune_cublas_take(const char* prefix) {
#define MMTUNE_OWN(name) \
  { #name, reinterpret_cast < void*>(&(name)) }
  static const OwnFunction functions[] = {
      MMTUNE_OWN(cublasSgemm_v2),
      MMTUNE_OWN(cublasSgemm_v2_64),
      MMTUNE_OWN(cublasDgemm_v2),
      MMTUNE_OWN(cublasDgemm_v2_64),
      MMTUNE_OWN(cublasSgemmStridedBatched),
      MMTUNE_OWN(cublasSgemmStridedBatched_64),
      MMTUNE_OWN(cublasDgemmStridedBatched),
      MMTUNE_OWN(cublasDgemmStridedBatched_64),
      MMTUNE_OWN(cublasGemmEx),
      MMTUNE_OWN(cublasGemmEx_64),
      MMTUNE_OWN(cublasGemmStridedBatchedEx),
      MMTUNE_OWN(cublasGemmStridedBatchedEx_64),
      MMTUNE_OWN(cublasLtMatmul),
      MMTUNE_OWN(cublasSetStream_v2),
      MMTUNE_OWN(cublasSetWorkspace_v2),
      MMTUNE_OWN(cublasDestroy_v2),
  };
#undef MMTUNE_OWN
  return take_calls(prefix, functions);
}

/// Serves nothing from now on, and counts, or no longer.
extern "C" __attribute__((visibility("default"))) void mmtune_cublas_only_count(int only_counts) {
  StandIn::instance().only_count(only_counts != 0);
}

/// Lets later calls see what was tuned meanwhile, in `database`, or in the same one as before where that is null.
extern "C" __attribute__((visibility("default"))) void mmtune_cublas_reload(const char* database) {
  StandIn::instance().reload(database);
}

/// Adds what was counted so far to a file (report.h). Returns 0 where it cannot be written.
extern "C" __attribute__((visibility("default"))) int mmtune_cublas_report(const char* path) {
  return StandIn::instance().write_report(path) ? 1 : 0;
}
// NOLINTEND(bugprone-macro-parentheses, readability-identifier-naming)

}  // namespace mmtune
