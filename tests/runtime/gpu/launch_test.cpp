#include "runtime/gpu/launch.h"

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/gpu/kernel_cache.h"
#include "tests/runtime/gpu/captured_graph.h"
#include "tests/runtime/support.h"
#include "tests/upload.h"

namespace mmtune {
namespace {

/// The plainest product: one thread per element of C.
constexpr const char* kProduct = R"(
extern "C" __global__ void gemm(long long m, long long n, long long k, float alpha, const float* a, long long lda,
                                const float* b, long long ldb, float beta, float* c, long long ldc) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (long long i = 0; i < k; ++i) sum += a[row * lda + i] * b[i * ldb + column];
  c[row * ldc + column] = alpha * sum + (beta == 0 ? 0 : beta * c[row * ldc + column]);
})";

class FloatMatrix {
 public:
  FloatMatrix(std::int64_t elements, float first) : values_(static_cast<std::size_t>(elements)), buffer_(bytes()) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = first + static_cast<float>(i % 7);
    test::upload(buffer_.address(), values_.data(), bytes());
  }
  CUdeviceptr address() const { return buffer_.address(); }
  const std::vector<float>& before() const { return values_; }
  std::vector<float> now() const {
    std::vector<float> values(values_.size());
    MMTUNE_CUDA(cuMemcpyDtoH(values.data(), buffer_.address(), bytes()));
    return values;
  }

 private:
  std::size_t bytes() const { return values_.size() * sizeof(float); }
  std::vector<float> values_;
  DeviceBuffer buffer_;
};

class GpuLaunch : public test::GpuTest {
 protected:
  static constexpr int kM = 9, kN = 10, kK = 11;

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    plan_.steps.resize(1);
    plan_.steps[0].grid = {2, 2, 1};
    plan_.steps[0].block = {8, 8, 1};
    plan_.steps[0].args = blas_arguments();
    a_.emplace(kM * kK, 1.0f);
    b_.emplace(kK * kN, -2.0f);
    c_.emplace(kM * kN, 5.0f);
    operands_ = {a_->address(), b_->address(), c_->address(), packed_leading_dimensions(problem_), 2.0, 3.0, 0};
    stream_ = make_stream();
  }

  void expect_product(double alpha, double beta) const {
    const auto now = c_->now();
    for (int row = 0; row < kM; ++row) {
      for (int column = 0; column < kN; ++column) {
        double sum = 0;
        for (int i = 0; i < kK; ++i) sum += a_->before()[row * kK + i] * b_->before()[i * kN + column];
        const std::size_t at = row * kN + column;
        ASSERT_EQ(now[at], alpha * sum + beta * c_->before()[at]) << row << ',' << column;
      }
    }
  }

  /// What `calls` enqueues on the stream, as a graph.
  GraphExec capture(const std::function<void()>& calls) const {
    return test::captured_graph(stream_.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, calls);
  }

  Problem problem_ = packed_problem(Precision::fp32, Layout::nn, kM, kN, kK);
  LaunchPlan plan_;
  std::optional<FloatMatrix> a_, b_, c_;
  Operands operands_;
  Stream stream_;
};

TEST_F(GpuLaunch, ComputesTheProduct) {
  const LoadedKernel kernel(build(kProduct), plan_);
  launch(kernel, plan_, problem_, operands_, stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  expect_product(2, 3);
}

TEST_F(GpuLaunch, AlphaZeroReadsNeitherAnorB) {
  const LoadedKernel kernel(build(kProduct), plan_);
  operands_.alpha = 0;
  operands_.a = operands_.b = 0;
  launch(kernel, plan_, problem_, operands_, stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  expect_product(0, 3);
}

TEST_F(GpuLaunch, EmptyOutputLaunchesNothing) {
  const LoadedKernel kernel(build(kProduct), plan_);
  problem_.m = 0;
  plan_.steps[0].grid = {0, 0, 0};  // a launch of this would fail
  launch(kernel, plan_, problem_, operands_, stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  EXPECT_EQ(c_->now(), c_->before());
}

TEST_F(GpuLaunch, CanBeCapturedIntoAGraph) {
  const LoadedKernel kernel(build(kProduct), plan_);
  const GraphExec graph = capture([&] { launch(kernel, plan_, problem_, operands_, stream_.get()); });
  EXPECT_EQ(c_->now(), c_->before()) << "capturing must not run";
  MMTUNE_CUDA(cuGraphLaunch(graph.get(), stream_.get()));
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  expect_product(2, 3);
}

TEST_F(GpuLaunch, AllowsAllTheSharedMemoryThatTheDeviceHas) {
  plan_.steps[0].smem_bytes = static_cast<int>(query_device(0).smem_per_block_optin);
  const LoadedKernel kernel(build(kProduct), plan_);
  launch(kernel, plan_, problem_, operands_, stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  expect_product(2, 3);
  plan_.steps[0].smem_bytes += 1024;
  EXPECT_THROW(LoadedKernel(build(kProduct), plan_), DeviceError);
}

TEST_F(GpuLaunch, RunsStepsInOrder) {
  plan_.steps.push_back(plan_.steps[0]);
  plan_.steps[1].kernel = "negate";
  plan_.steps[1].args = {Arg::extent(Extent::m), Arg::extent(Extent::n), Arg::operand(Operand::c)};
  const std::string negate = R"(
extern "C" __global__ void negate(long long m, long long n, float* c) {
  const long long i = ((long long)blockIdx.y * 8 + threadIdx.y) * n + blockIdx.x * 8 + threadIdx.x;
  if (blockIdx.x * 8 + threadIdx.x < n && blockIdx.y * 8 + threadIdx.y < m) c[i] = -c[i];
})";
  const LoadedKernel kernel(build(kProduct + negate), plan_);
  launch(kernel, plan_, problem_, operands_, stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  expect_product(-2, -3);
}

/// Three steps that overlap, as calls do: the first counts calls in A, late; the others wait and hand the count on to B
/// and to C.
class GpuOverlap : public GpuLaunch {
 protected:
  static constexpr int kCalls = 3;

  void SetUp() override {
    GpuLaunch::SetUp();
    if (IsSkipped()) return;
    if (query_device(0).cc_major < 9) GTEST_SKIP() << "this GPU runs steps one after the other";
    LaunchStep step;
    step.block.x = kM * kN;
    plan_.steps.assign(3, step);
    const Arg a = Arg::operand(Operand::a), b = Arg::operand(Operand::b), c = Arg::operand(Operand::c);
    const std::vector<std::vector<Arg>> arguments = {{a}, {a, b}, {b, c}};
    const std::vector<std::string> kernels = {"count", "gemm", "copy"};
    for (std::size_t i = 0; i < 3; ++i) {
      plan_.steps[i].kernel = kernels[i];
      plan_.steps[i].args = arguments[i];
      plan_.steps[i].overlaps_previous = true;
    }
  }

  /// Several calls on the stream, then as many in a graph.
  void expect_counted() const {
    const LoadedKernel kernel(build(R"(
extern "C" __global__ void count(float* a) {
  asm volatile("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;" ::: "memory");
  const long long begin = clock64();
  while (clock64() - begin < 100000) {}
  a[threadIdx.x] += 1;
}
extern "C" __global__ void gemm(float* a, float* b) {
  asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
  b[threadIdx.x] = a[threadIdx.x];
}
extern "C" __global__ void copy(float* b, float* c) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  c[threadIdx.x] = b[threadIdx.x];
})"),
                              plan_);
    const auto call = [&] {
      for (int i = 0; i < kCalls; ++i) launch(kernel, plan_, problem_, operands_, stream_.get());
    };
    const auto expect_count = [&](int count) {
      MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
      const auto now = c_->now();
      for (std::size_t i = 0; i < now.size(); ++i) ASSERT_EQ(now[i], a_->before()[i] + static_cast<float>(count));
    };
    call();
    expect_count(kCalls);
    const GraphExec graph = capture(call);
    MMTUNE_CUDA(cuGraphLaunch(graph.get(), stream_.get()));
    MMTUNE_CUDA(cuGraphLaunch(graph.get(), stream_.get()));
    expect_count(3 * kCalls);
  }
};

TEST_F(GpuOverlap, StepsAndCallsWaitForTheOneBefore) { expect_counted(); }

TEST_F(GpuOverlap, ResidentOnesToo) {
  plan_.steps[1].resident = true;
  expect_counted();
}

TEST_F(GpuLaunch, FormsClusters) {
  if (query_device(0).max_cluster_size == 1) GTEST_SKIP() << "this GPU has no clusters";
  plan_.steps[0].cluster = {1, 2, 1};
  plan_.steps[0].args = {Arg::operand(Operand::c)};
  const LoadedKernel kernel(build(R"(
extern "C" __global__ void gemm(float* c) {
  unsigned columns, rows;
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(columns));
  asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(rows));
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0 && threadIdx.y == 0) c[0] = 10 * columns + rows;
})"),
                            plan_);
  launch(kernel, plan_, problem_, operands_, stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  EXPECT_EQ(c_->now()[0], 12.0f);
}

// Not every part of a chip has multiprocessors for as many clusters as their number allows.
TEST_F(GpuLaunch, LaunchesNoMoreClustersThanFitWhereBlocksTakeTurns) {
  const DeviceSpec device = query_device(0);
  if (device.max_cluster_size == 1) GTEST_SKIP() << "this GPU has no clusters";
  plan_.steps[0].cluster = {4, 1, 1};
  plan_.steps[0].grid = {4096, 1, 1};
  plan_.steps[0].block = {1024, 1, 1};
  plan_.steps[0].smem_bytes = 100'000;  // A multiprocessor then has one or two blocks.
  plan_.steps[0].args = {Arg::operand(Operand::c)};
  const std::string cubin = build(R"(
extern "C" __global__ void gemm(float* c) {
  if (blockIdx.x == 0 && threadIdx.x == 0) c[0] = gridDim.x;
})");
  const auto blocks_run = [&] {
    const LoadedKernel kernel(cubin, plan_);
    launch(kernel, plan_, problem_, operands_, stream_.get());
    MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
    return static_cast<std::int64_t>(c_->now()[0]);
  };
  EXPECT_EQ(blocks_run(), 4096);
  plan_.steps[0].takes_turns = true;
  const std::int64_t blocks = blocks_run();
  EXPECT_GT(blocks, 0);
  EXPECT_EQ(blocks % 4, 0);
  EXPECT_LE(blocks, 2 * device.sm_count);
  plan_.steps[0].grid.x = 4;
  EXPECT_EQ(blocks_run(), 4);
}

TEST_F(GpuLaunch, EncodesTensorMapsAlsoForEmptySums) {
  if (query_device(0).cc_major < 9) GTEST_SKIP() << "this GPU has no tensor maps";
  problem_ = packed_problem(Precision::fp32, Layout::nn, 8, 8, 8);
  operands_.ld = packed_leading_dimensions(problem_);
  const auto map = [&](const char* name, Operand operand) {
    return plan_.add_map({.name = name,
                          .base = Arg::operand(operand),
                          .dimensions = {{8, 32}, {8, 64, {.rows = 1}}},
                          .swizzle_bytes = 128});
  };
  plan_.needs = {16, 16, 4};
  plan_.steps[0].args = {map("A", Operand::a), map("B", Operand::b), Arg::operand(Operand::c)};
  const LoadedKernel kernel(build(R"(
struct alignas(64) Map { unsigned long long words[16]; };
extern "C" __global__ void gemm(const __grid_constant__ Map a, const __grid_constant__ Map b, float* c) {
  if (a.words[0] != 0 && b.words[0] != 0) c[0] = 42;
})"),
                            plan_);
  for (const std::int64_t k : {8, 0}) {
    problem_.k = k;
    launch(kernel, plan_, problem_, operands_, stream_.get());
    MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
    EXPECT_EQ(c_->now()[0], 42.0f);
  }
}

TEST_F(GpuLaunch, CacheLoadsOnceForManyThreads) {
  const std::string cubin = build(kProduct);
  KernelCache cache;
  std::atomic<int> loads = 0;
  std::vector<LoadedKernelPtr> kernels(4);
  std::vector<std::thread> threads;
  for (auto& kernel : kernels) {
    threads.emplace_back([&] {
      MMTUNE_CUDA(cuCtxSetCurrent(gpu_->context()));
      kernel = cache.get(gpu_->context(), "hash", plan_, [&] {
        ++loads;
        return cubin;
      });
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(loads, 1);
  for (const auto& kernel : kernels) EXPECT_EQ(kernel, kernels[0]);

  LaunchPlan larger = plan_;
  larger.steps[0].smem_bytes = 1024;
  EXPECT_NE(cache.get(gpu_->context(), "hash", larger, [&] { return cubin; }), kernels[0]);
}

TEST(KernelCache, FailureReachesTheCallerAndIsNotKept) {
  KernelCache cache;
  int calls = 0;
  const auto failing = [&]() -> std::string {
    ++calls;
    throw DeviceError("no program");
  };
  EXPECT_THROW(cache.get(nullptr, "hash", LaunchPlan{}, failing), DeviceError);
  EXPECT_THROW(cache.get(nullptr, "hash", LaunchPlan{}, failing), DeviceError);
  EXPECT_EQ(calls, 2);
}

TEST(KernelCache, AFailureIsNothingThatIsFound) {
  KernelCache cache;
  std::atomic<bool> is_over = false;
  std::thread failing([&] {
    for (int i = 0; i < 20'000; ++i) {
      EXPECT_THROW(cache.get(nullptr, "hash", LaunchPlan{}, []() -> std::string { throw DeviceError("no program"); }),
                   DeviceError);
    }
    is_over = true;
  });
  int failures = 0;
  while (!is_over) {
    try {
      cache.find(nullptr, "hash", LaunchPlan{});
    } catch (const DeviceError&) {
      ++failures;
    }
  }
  failing.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace mmtune
