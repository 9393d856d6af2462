// What stands in for cuBLAS in a process: decides for every shape once who serves it, and counts.
#pragma once

#include <cuda.h>
#include <mmtune/mmtune.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "preload/handle_workspaces.h"
#include "preload/product.h"
#include "preload/report.h"
#include "runtime/call/append_map.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// What decides who serves a call, in the calling thread's CUDA context.
struct ShapeKey {
  CUcontext context = nullptr;
  Problem problem;             ///< the row-major problem, with the alignment of this call
  std::uint64_t products = 1;  ///< the number, rounded up to a power of two: what is decided for about as many holds
  Activation activation = Activation::none;
  Bias bias = Bias::none;     ///< the bias by the rows and columns of cuBLAS's C
  std::uint32_t reloads = 0;  ///< how often databases were read again
  bool only_counted = false;

  friend bool operator==(const ShapeKey&, const ShapeKey&) = default;
};

struct ShapeKeyHash {
  std::uint64_t operator()(const ShapeKey& key) const;
};

/// Who serves calls of a shape, and how many there were. Counted by all threads.
struct Shape {
  Library* library = nullptr;
  std::optional<Passed> passed;     ///< nothing: mmtune serves them
  std::size_t workspace_bytes = 0;  ///< the bytes that a call needs
  double expected_us = 0;           ///< the time that mmtune is expected to take for one product
  double cublas_ratio = 0;          ///< the ratio as Answer has it
  std::atomic<std::int64_t> served_calls = 0;
  std::atomic<std::int64_t> served_products = 0;
  std::atomic<std::int64_t> passed_calls = 0;
  std::atomic<std::int64_t> passed_products = 0;
};

/// Thread safe. Nothing of it throws; that of a process lives as long as that.
class StandIn {
 public:
  struct Files {
    std::optional<std::string> report;  ///< MMTUNE_CUBLAS_REPORT
    std::optional<std::string> record;  ///< MMTUNE_RECORD

    /// The files that the environment names now.
    static Files of_environment();
  };

  explicit StandIn(Files files = Files::of_environment());

  /// The stand-in of this process, made at the first call. What was counted is written to the files that were named
  /// when this library was loaded, when the process ends by exit().
  static StandIn& instance();

  /// Whether this is a child of a process that had one: CUDA does not work there, and locks may be held for ever.
  static bool is_in_child() noexcept;

  /// Enqueues the call and returns true, or leaves everything as it is: then cuBLAS is to be called. `workspace` is the
  /// caller's own, which may be too small.
  bool serve(const Gemm& call, CUstream stream, const WorkspaceOfCall& workspace) noexcept;

  /// Counts a call that cannot even be looked at.
  void pass(Passed reason) noexcept {
    passed_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }

  /// Calls so far.
  struct Counts {
    std::int64_t served = 0;
    std::int64_t passed = 0;
  };
  Counts counts() const;

  /// Passes all calls on from now on, counted by their shapes, or no longer.
  void only_count(bool only_counts) noexcept { only_counts_.store(only_counts, std::memory_order_relaxed); }

  /// Decides anew from now on, by `database`, or by the same as before where that is null. What was opened stays open:
  /// captured graphs may launch its kernels.
  void reload(const char* database) noexcept;

  /// Adds what was counted to a file, as append_report() does; false where that fails.
  bool write_report(const char* path) noexcept;

  /// Writes what was counted to its files.
  void write_files() noexcept;

 private:
  bool run(Shape& shape, const Gemm& call, CUstream stream, const WorkspaceOfCall& workspace);
  /// Null where it cannot be decided now, which is counted.
  Shape* decide(const ShapeKey& key, const Gemm& call, CUstream stream);
  /// The library of the device of the calling thread's context; null if mmtune cannot use it.
  Library* library_of_device();
  std::vector<ReportRow> rows() const;

  const Files files_;
  AppendMap<ShapeKey, Shape*, ShapeKeyHash> shapes_;
  std::array<std::atomic<std::int64_t>, kPassedReasons> passed_{};  ///< the calls without a shape
  const bool leaves_single_;  ///< whether cuBLAS keeps fp32 and tf32: NVIDIA_TF32_OVERRIDE changes them
  std::mutex deciding_;
  std::vector<std::unique_ptr<Shape>> owned_;               ///< the shapes of the map
  std::string database_;                                    ///< empty: the user's
  std::map<CUdevice, std::unique_ptr<Library>> libraries_;  ///< the libraries; null: none can be opened
  std::vector<std::unique_ptr<Library>> retired_;           ///< those of earlier databases
  std::atomic<std::uint32_t> reloads_ = 0;
  std::atomic<bool> only_counts_ = false;
};

}  // namespace mmtune
