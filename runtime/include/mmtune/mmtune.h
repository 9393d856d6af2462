// The library: matrix products on the GPU with the kernels that mmtune tuned.
//
//     mmtune::Library library = mmtune::Library::open();
//     mmtune::Gemm call{.m = 1024, .n = 512, .k = 256, .a = a, .b = b, .c = c};
//     library.gemm(call, stream);
//
// Needs no CUDA header: a stream is a CUstream or a cudaStream_t, addresses are device addresses. The same for C and
// other languages is <mmtune/mmtune_c.h>, with names and arguments like cuBLAS's <mmtune/blas.h>.
#pragma once

#include <mmtune/epilogue.h>
#include <mmtune/error.h>
#include <mmtune/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace mmtune {

/// How a kernel was found for a call.
enum class Match {
  exact,      ///< this size was tuned
  nearest,    ///< the kernel of the nearest tuned size
  predicted,  ///< another tuned kernel, which is expected to be faster than that of the nearest size
  fallback,   ///< the plain kernel that is always right, where none of them can run this call
};

/// "exact", "nearest", "predicted", "fallback".
std::string_view to_string(Match match);

/// LibraryOptions::device: the device of the calling thread's CUDA context, or 0 if it has none.
inline constexpr int kCurrentDevice = -1;

struct LibraryOptions {
  std::string database = {};    ///< file; empty: MMTUNE_DB, else the user's own, as the mmtune program
  int device = kCurrentDevice;  ///< CUDA ordinal
  std::string model = {};       ///< the name of a known GPU, "h200", to ask plan() about it without having it
  /// Lets gemm() compile the fallback where the database has none: once per precision and layout, in a fraction of a
  /// second. A call with an epilogue or a batch then compiles its kernel, too. Otherwise only prepare() compiles
  /// anything.
  bool compile_missing = false;
  /// Lets gemm() compile, where nothing is tuned, what prepare() would: at the first call of a precision, layout,
  /// alignment and kind of extents (below 64 or not), in about a second. Other sizes of that kind run the same program.
  bool compile_untuned = false;
  /// Finds out on the application's own calls which of a few kernels is the fastest for a size that was not tuned: up
  /// to four, which the prediction ranks first. The first call of such a size loads them all. Later some calls are
  /// timed on the GPU, with events that nothing waits for, and some of these run another of the kernels, each of which
  /// is right. When enough is known the size keeps the fastest as long as the library lives, and Answer::why says so.
  /// Until then the time that this is expected to cost stays within 1 % of that of the size's calls; docs/library.md
  /// says how that is counted.
  ///
  /// So the same call may give other bits before and after, and on a call that tries a kernel. Tuned sizes stay as they
  /// are, as do batches, calls with an epilogue, with device_alpha or with a workspace of their own. A call in a
  /// capture runs what is known so far, and is neither timed nor used to try a kernel. Nothing is written to a
  /// database: times of an application's calls are not what tuning would have measured.
  bool learn = false;
};

/// How all matrices of a call lie in memory.
enum class Order {
  row_major,
  /// It runs as C' = op(B)' op(A)', row-major, which is what Answer::why speaks of, and Precision: of bf16_x_fp32, A is
  /// fp32 here and B is bf16.
  column_major,
};

/// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C; see <mmtune/types.h> for precision and layout.
///
/// beta = 0 does not read C, alpha = 0 reads neither A nor B, k = 0 gives beta * C, m = 0 or n = 0 does nothing.
/// Addresses must be aligned to an element; more alignment, of rows and of strides too, allows faster kernels. For
/// int32 and int8, alpha and beta must be 32-bit integers. Extents go up to 2^40, and no operand has more than 2^48
/// elements, padding included. C must not overlap what is read, which is not checked.
///
/// With `epilogue`, C is activation(alpha * op(A)[m,k] * op(B)[k,n] + beta * C + bias), see <mmtune/epilogue.h>,
/// computed in the format of the sums and rounded once. Its rows and columns are those of the caller's C, in either
/// order, and the products of a batch share the bias. The kernel of the call without an epilogue is compiled with it:
/// that is what prepare() does. Where it was not called, the product and the epilogue are two kernels, and C is rounded
/// between them.
///
/// With `batch`, there are several such products of one shape, each of its own matrices. They run side by side in one
/// launch, by a kernel that is compiled for it: that is what prepare() does. Where it was not called, or where the
/// kernel cannot do so, each is a launch of its own, one after the other: Answer::why says so.
struct Gemm {
  Precision precision = kDefaultPrecision;
  Layout layout = Layout::nn;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double alpha = 1;
  const void* a = nullptr;
  std::int64_t lda = 0;  ///< elements between two stored rows, or columns; 0: no padding between them
  const void* b = nullptr;
  std::int64_t ldb = 0;
  double beta = 0;
  void* c = nullptr;
  std::int64_t ldc = 0;
  void* workspace = nullptr;        ///< device memory for this call, aligned to 256 bytes; null: the library's own
  std::size_t workspace_bytes = 0;  ///< the bytes of `workspace`; at least what Library::workspace_bytes says
  Order order = Order::row_major;
  std::int64_t batch = 1;     ///< the number of products; 0 does nothing
  std::int64_t stride_a = 0;  ///< elements from the A of a product to that of the next; 0: they share it
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;  ///< the same; no two products may write one element
  Epilogue epilogue = {};
  /// Where not null, the kernel loads alpha and beta from here when it runs: device addresses of a float, for fp64 a
  /// double, for int32 and int8 a 32-bit integer. Then `alpha` and `beta` do not count, and A and B are read even if
  /// *device_alpha is 0. Such a kernel is compiled like one with an epilogue, but nothing stands in for it.
  const void* device_alpha = nullptr;
  const void* device_beta = nullptr;
  /// Whether an element of C must have the same bits for every m and n, wherever its row and column are, for every
  /// address, leading dimension and batch. Only kernels that add up in one order run it, which `mmtune tune` and
  /// `cover` find with --invariant. Where there is none, Error says what to do; nothing ever runs in another order. An
  /// epilogue must have been prepared. docs/same_bits.md says what is promised and why it holds.
  bool invariant = false;
};

/// The matrices of a batch, one address for each product: device addresses, in arrays of the host. No two of `c` may
/// overlap, which is not checked.
struct GemmPointers {
  std::span<const void* const> a;
  std::span<const void* const> b;
  std::span<void* const> c;
};

/// What runs, or would run, for a call.
struct Answer {
  Match match = Match::exact;
  std::string family;      ///< "simt"; empty where there is nothing to do
  std::string config;      ///< "BM=128 BN=64 …"
  double expected_us = 0;  ///< the time on the GPU, without an epilogue's part; of a batch, of one product on average
  bool measured = false;   ///< whether expected_us was measured for this size; else the model had a part in it
  std::string why;         ///< one line for people
  /// How many times as long cuBLAS took as the kernel that was tuned for this size, by `mmtune bench`: of the plain
  /// product. 0: they were not compared, or another kernel runs.
  double cublas_ratio = 0;
};

/// Every function may be called from any thread at any time. What a call throws leaves C alone unless it is a
/// DeviceLostError.
class Library {
 public:
  /// Reads the database's decisions for the GPU. A database that is missing, damaged or has nothing for this GPU leaves
  /// a library that has only the fallback, one warning on stderr, and a word in every Answer::why. So does one that
  /// another process keeps locked: opening it and all later calls wait for locks for at most 50 ms together, and what
  /// cannot be read then is run by the fallback until it can. Throws DeviceError if there is no such device, UsageError
  /// for an unknown model.
  static Library open(const LibraryOptions& options = {});

  /// Destroy it after its last call has finished on the GPU and before the CUDA contexts that it was used in.
  ~Library();
  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;

  /// Enqueues the product on the stream, null being the default one, and returns without waiting. Works in the calling
  /// thread's CUDA context; where there is none, in the device's primary context. The first call of a size loads its
  /// kernel, which takes about a millisecond. Not while a stream is captured: then what is loaded runs, the kernel that
  /// was chosen or the fallback, or nothing is enqueued and Error thrown: see prepare().
  ///
  /// Throws UsageError naming the argument that is wrong, Error where neither a stored kernel nor the fallback can run,
  /// with what to do about it, DeviceError and its kinds for what the driver refuses.
  Answer gemm(const Gemm& call, void* stream);

  /// The same without the answer, whose texts cost more time than all else.
  void enqueue(const Gemm& call, void* stream);

  /// A product for each element of `pointers`, which all have the same number of them; call.batch, the strides and
  /// addresses of `call` do not count. A kernel must suit all addresses, so one that is aligned to little slows all.
  void enqueue(const Gemm& call, const GemmPointers& pointers, void* stream);

  /// What gemm() would run. Addresses may be null and then count as aligned. Throws what gemm() throws before it runs.
  Answer plan(const Gemm& call) const;

  /// Bytes of device memory that gemm() needs besides the operands: often 0. Addresses as in plan(). Of a batch each
  /// product has a part of it; with less, more launches have fewer products each. Throws as plan().
  std::size_t workspace_bytes(const Gemm& call) const;

  /// Makes sure that later calls of these sizes and alignments on this stream neither load nor compile nor allocate, so
  /// that they can be captured into a graph. Compiles, if NVRTC is there, what no stored kernel can run: the nearest
  /// tuned configuration, or the fallback. Addresses as in plan(). Throws as gemm(); calls before that are prepared.
  ///
  /// Calls with an epilogue, and batches in one launch, always need NVRTC: what is stored has none. Besides the kernel
  /// with the epilogue, one is compiled that finishes plain products of other sizes with the same precision, activation
  /// and kind of bias.
  ///
  /// The library's workspaces belong to a stream, or to what is captured from it, and live as long as the library.
  /// Graphs that were captured from one stream and run at the same time need their own: Gemm::workspace. Between a
  /// captured call's own kernels there may be programmatic edges (CUgraphEdgeData), never to others.
  void prepare(std::span<const Gemm> calls, void* stream = nullptr);

 private:
  struct Impl;
  explicit Library(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mmtune
