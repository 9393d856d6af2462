// The library on a GPU, against a plain loop over small integers, which every precision adds without rounding.
#include <gmock/gmock.h>
#include <mmtune/mmtune.h>

#include <array>
#include <memory>
#include <thread>
#include <utility>

#include "tests/runtime/call/product_on_gpu.h"
#include "tests/runtime/gpu/captured_graph.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

using test::Decision;
using test::fp32;
using test::Product;
using test::ProductOptions;
using testing::HasSubstr;

class GpuLibrary : public test::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    stream_ = make_stream();
  }

  Library open(bool compile_missing = false) const {
    return Library::open({.database = directory_.file("test.db"), .device = 0, .compile_missing = compile_missing});
  }

  /// Compiles and stores a decision.
  void tune(const Decision& decision) const {
    Store store = Store::open(directory_.file("test.db"), OpenMode::read_write);
    const Source source = test::source_of(decision, device_, target_.compute_capability);
    test::put(store, device_, decision, source.hash, test::compiled_binary(*nvrtc_, source, target_));
  }

  Answer expect_right(Library& library, const Problem& problem, ProductOptions options = {}) const {
    Product product(problem, options);
    const Answer answer = library.gemm(product.call(), stream_.get());
    MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
    EXPECT_TRUE(product.is_right()) << answer.family << ' ' << answer.config << ", " << answer.why;
    return answer;
  }

  TemporaryDirectory directory_;
  test::ScopedEnv quiet_{"MMTUNE_LOG", "silent"};
  Stream stream_;
};

TEST_F(GpuLibrary, RunsExactNearestPredictedAndFallback) {
  tune({fp32(64, 64, 64), "simt"});
  tune({fp32(256, 256, 128), "naive", "MAPPING=0 BX=1 BY=1"});
  Library library = open(true);
  EXPECT_EQ(expect_right(library, fp32(64, 64, 64)).match, Match::exact);
  EXPECT_EQ(expect_right(library, fp32(72, 64, 60)).match, Match::nearest);
  const Answer predicted = expect_right(library, fp32(260, 256, 120));
  EXPECT_EQ(predicted.match, Match::predicted);
  EXPECT_EQ(predicted.family, "simt");
  EXPECT_EQ(expect_right(library, packed_problem(Precision::fp32, Layout::tn, 33, 35, 37)).match, Match::fallback);
}

TEST_F(GpuLibrary, FallbackIsRightForEveryPrecisionAndLayout) {
  Library library = open(true);
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {7, 3, 5}, {33, 65, 31}}) {
        const Problem problem = packed_problem(precision, layout, m, n, k);
        EXPECT_EQ(expect_right(library, problem).match, Match::fallback);
        expect_right(library, problem, {.alpha = 2, .beta = -1, .padding = 3, .offset = 1});
      }
    }
  }
}

TEST_F(GpuLibrary, TunedKernelIsRightForOtherExtentsInEveryPrecisionAndLayout) {
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) tune({packed_problem(precision, layout, 64, 64, 64), "simt"});
  }
  Library library = open();
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      for (const auto& [m, n, k] : {std::tuple{16, 16, 16}, {80, 48, 32}, {144, 208, 64}}) {
        const Problem problem = packed_problem(precision, layout, m, n, k);
        EXPECT_EQ(expect_right(library, problem, {.padding = 16, .offset = 16}).family, "simt");
      }
    }
  }
}

TEST_F(GpuLibrary, OperandsThatATunedKernelCopiesMayBeOthersForOtherExtents) {
  const auto bf16 = [](std::int64_t n, std::int64_t k) {
    return packed_problem(Precision::bf16, Layout::nn, 192, n, k);
  };
  const Decision copies_a{bf16(256, 72), "wgmma", "PACK=1"};
  const Family& wgmma = family_named("wgmma");
  if (!wgmma.broken_rule(copies_a.problem, test::config_of(copies_a, device_), device_).empty()) {
    GTEST_SKIP() << "this GPU cannot run wgmma";
  }
  tune(copies_a);
  Library library = open();
  for (const Problem& problem : {copies_a.problem, bf16(264, 128), bf16(264, 72)}) {
    EXPECT_EQ(expect_right(library, problem).family, "wgmma") << to_string(problem);
  }
}

TEST_F(GpuLibrary, PrepareCompilesTheTunedConfigurationForMisalignedOperands) {
  tune({fp32(64, 64, 64), "simt"});
  Library library = open();
  Product product(fp32(64, 64, 60), {.padding = 1, .offset = 1});
  EXPECT_THROW(library.gemm(product.call(), stream_.get()), Error);
  library.prepare(std::array{product.call()}, stream_.get());
  EXPECT_EQ(library.plan(product.call()).family, "simt");
  const Answer answer = library.gemm(product.call(), stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  EXPECT_TRUE(product.is_right());
  EXPECT_EQ(answer.match, Match::nearest);
  EXPECT_EQ(answer.family, "simt");
}

TEST_F(GpuLibrary, SaysWhatToDoWhereNothingCanRun) {
  Library library = open();
  const Product product(fp32(5, 6, 7), {});
  try {
    library.gemm(product.call(), stream_.get());
    FAIL() << "ran without any kernel";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("prepare()"));
    EXPECT_THAT(error.what(), HasSubstr("--sizes 5x6x7"));
  }
  library.prepare(std::array{product.call()});
  EXPECT_EQ(expect_right(library, fp32(9, 10, 11)).match, Match::fallback) << "compiled once for all sizes";
}

TEST_F(GpuLibrary, ScalesAsBlasDoes) {
  tune({fp32(64, 64, 64), "simt"});
  Library library = open(true);
  for (const Problem& problem : {fp32(64, 64, 64), fp32(13, 17, 19), fp32(64, 64, 0), fp32(5, 7, 0)}) {
    for (const double alpha : {0.0, 1.0, -2.0}) {
      for (const double beta : {0.0, 1.0, 0.5}) expect_right(library, problem, {.alpha = alpha, .beta = beta});
    }
  }
}

TEST_F(GpuLibrary, ColumnMajorCallsAreThoseOfTheTransposes) {
  tune({fp32(64, 64, 64), "simt"});
  Library library = open(true);
  for (const Layout layout : kAllLayouts) {
    Product product(packed_problem(Precision::fp32, layout, 72, 40, 24), {.alpha = 2, .padding = 4});
    const Gemm rows = product.call();
    Gemm columns = rows;
    columns.order = Order::column_major;
    columns.layout = layout == Layout::nt ? Layout::tn : layout == Layout::tn ? Layout::nt : layout;
    std::swap(columns.m, columns.n);
    std::swap(columns.a, columns.b);
    std::swap(columns.lda, columns.ldb);
    library.enqueue(columns, stream_.get());
    MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
    EXPECT_TRUE(product.is_right()) << to_string(layout);
  }
}

TEST_F(GpuLibrary, BatchesOfPointersAreRight) {
  tune({fp32(128, 128, 128), "simt", "SPLIT=2"});
  Library library = open(true);
  for (const int padding : {0, 1}) {
    std::vector<std::unique_ptr<Product>> products;
    std::vector<const void*> a, b;
    std::vector<void*> c;
    for (int i = 0; i < 5; ++i) {
      products.push_back(
          std::make_unique<Product>(fp32(128, 64, 128), ProductOptions{.padding = padding, .offset = padding}));
      a.push_back(products.back()->call().a);
      b.push_back(products.back()->call().b);
      c.push_back(products.back()->call().c);
    }
    library.enqueue(products[0]->call(), {a, b, c}, stream_.get());
    MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
    for (const auto& product : products) EXPECT_TRUE(product->is_right()) << padding;
  }
}

TEST_F(GpuLibrary, PrepareCompilesWhereNothingIsTuned) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::int8}) {
    Library library = open();
    Product product(packed_problem(precision, Layout::nt, 300, 200, 130), {.padding = 1, .offset = 1});
    library.prepare(std::array{product.call()}, stream_.get());
    const Answer answer = library.gemm(product.call(), stream_.get());
    MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
    EXPECT_TRUE(product.is_right()) << answer.family << ' ' << answer.config;
    EXPECT_EQ(answer.match, Match::predicted) << answer.why;
  }
}

TEST_F(GpuLibrary, EmptyOutputTouchesNothing) {
  Library library = open();
  EXPECT_EQ(expect_right(library, fp32(0, 5, 5)).family, "");
  EXPECT_EQ(expect_right(library, fp32(5, 0, 5)).family, "");
}

TEST_F(GpuLibrary, AlphaZeroNeedsNoInputs) {
  Library library = open(true);
  Product product(fp32(9, 9, 9), {.alpha = 0, .beta = 2});
  Gemm call = product.call();
  call.a = call.b = nullptr;
  library.gemm(call, stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  EXPECT_TRUE(product.is_right());
}

TEST_F(GpuLibrary, NamesWrongArguments) {
  Library library = open(true);
  const Product product(fp32(4, 4, 4), {});
  Gemm call = product.call();
  call.b = nullptr;
  EXPECT_THROW(library.gemm(call, stream_.get()), UsageError);
  call = product.call();
  call.precision = Precision::int32;
  call.alpha = 0.5;
  EXPECT_THROW(library.gemm(call, stream_.get()), UsageError);
}

TEST_F(GpuLibrary, KernelThatCannotBeLoadedGivesWayToTheFallback) {
  const Decision decision{fp32(64, 64, 64), "simt"};
  const Source source = test::source_of(decision, device_, target_.compute_capability);
  {
    Store store = Store::open(directory_.file("test.db"), OpenMode::read_write);
    test::put(store, device_, decision, source.hash, test::pretended_binary(source, target_));
  }
  Library library = open(true);
  const Answer answer = expect_right(library, fp32(64, 64, 64));
  EXPECT_EQ(answer.match, Match::fallback);
  EXPECT_THAT(answer.why, HasSubstr("could not be loaded"));
}

TEST_F(GpuLibrary, LearnsFromCallsThatAnotherKernelIsFaster) {
  // What is stored of the plain kernel is too good to be true: on an H200 it is expected to be the faster one.
  tune({fp32(512, 512, 512), "naive", "", 15});
  tune({fp32(512, 512, 640), "simt", "", 20});
  Library library = Library::open({.database = directory_.file("test.db"), .device = 0, .learn = true});
  const Problem problem = fp32(520, 512, 512);
  Product product(problem, {.beta = 0});
  const Gemm call = product.call();
  const auto has_learnt = [&] { return library.plan(call).why.find("learnt from calls") != std::string::npos; };
  bool is_tried = false;
  for (int i = 0; i < 100'000 && !has_learnt(); ++i) {
    is_tried = library.gemm(call, stream_.get()).family == "simt" || is_tried;
    if (i % 100 == 0) MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  }
  EXPECT_TRUE(is_tried);
  const Answer answer = library.gemm(call, stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  EXPECT_EQ(answer.family, "simt") << answer.why;
  EXPECT_THAT(answer.why, HasSubstr("learnt from calls"));
  EXPECT_TRUE(answer.measured);
  EXPECT_TRUE(product.is_right());
}

TEST_F(GpuLibrary, LearnsBesideACaptureOfAnotherStream) {
  tune({fp32(512, 512, 512), "naive", "", 15});
  tune({fp32(512, 512, 640), "simt", "", 20});
  Library library = Library::open({.database = directory_.file("test.db"), .device = 0, .learn = true});
  const Product product(fp32(520, 512, 512), {.beta = 0});
  const Gemm call = product.call();
  const Stream other = make_stream();
  library.prepare(std::array{call}, other.get());
  library.prepare(std::array{call}, stream_.get());
  MMTUNE_CUDA(cuStreamBeginCapture(other.get(), CU_STREAM_CAPTURE_MODE_GLOBAL));
  library.enqueue(call, other.get());
  const auto has_learnt = [&] { return library.plan(call).why.find("learnt from calls") != std::string::npos; };
  for (int i = 0; i < 100'000 && !has_learnt(); ++i) library.enqueue(call, stream_.get());
  CUgraph captured = nullptr;
  MMTUNE_CUDA(cuStreamEndCapture(other.get(), &captured));
  EXPECT_NE(captured, nullptr) << "the capture goes on";
  const Graph graph(captured);
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  EXPECT_TRUE(has_learnt());
}

/// A kernel with a workspace, which all calls of a stream share.
class GpuLibraryWorkspace : public GpuLibrary {
 protected:
  void SetUp() override {
    GpuLibrary::SetUp();
    if (!IsSkipped()) tune({problem_, "simt", "SPLIT=2"});
  }

  const Problem problem_ = fp32(128, 128, 128);
};

TEST_F(GpuLibraryWorkspace, StreamsAndThreadsDoNotDisturbEachOther) {
  Library library = open();
  const Stream other = make_stream();
  constexpr int kThreads = 4, kCalls = 20;
  std::vector<std::unique_ptr<Product>> products;
  for (int i = 0; i < kThreads * kCalls; ++i) products.push_back(std::make_unique<Product>(problem_, ProductOptions{}));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {  // Such a thread has no context of its own.
      const CUstream stream = thread % 2 == 0 ? stream_.get() : other.get();
      for (int i = 0; i < kCalls; ++i) library.gemm(products[thread * kCalls + i]->call(), stream);
    });
  }
  for (auto& thread : threads) thread.join();
  MMTUNE_CUDA(cuCtxSynchronize());
  for (const auto& product : products) EXPECT_TRUE(product->is_right());
}

TEST_F(GpuLibraryWorkspace, UsesTheCallersIfGiven) {
  Library library = open();
  Product product(problem_, {});
  Gemm call = product.call();
  const std::size_t bytes = library.workspace_bytes(call);
  ASSERT_EQ(bytes, 2u * 128 * 128 * sizeof(float));
  const DeviceBuffer workspace(bytes);
  call.workspace = reinterpret_cast<void*>(workspace.address());
  call.workspace_bytes = bytes - 1;
  EXPECT_THROW(library.gemm(call, stream_.get()), UsageError);
  call.workspace_bytes = bytes;
  library.gemm(call, stream_.get());
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  EXPECT_TRUE(product.is_right());
}

TEST_F(GpuLibraryWorkspace, PreparedCallsCanBeCaptured) {
  Library library = open();
  Product product(problem_, {});
  const Gemm call = product.call();
  library.prepare(std::array{call}, stream_.get());
  const GraphExec graph =
      test::captured_graph(stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL, [&] { library.gemm(call, stream_.get()); });
  MMTUNE_CUDA(cuGraphLaunch(graph.get(), stream_.get()));
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  EXPECT_TRUE(product.is_right());
}

TEST_F(GpuLibraryWorkspace, AllocatesWhatAGraphNeedsWhileCapturing) {
  Library library = open();
  const Stream other = make_stream();
  Product product(problem_, {.beta = 0});
  library.prepare(std::array{product.call()}, other.get());
  std::vector<GraphExec> graphs;
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    const Stream stream = make_stream();
    graphs.push_back(test::captured_graph(stream.get(), mode, [&] { library.gemm(product.call(), stream.get()); }));
  }
  for (const GraphExec& graph : graphs) MMTUNE_CUDA(cuGraphLaunch(graph.get(), stream_.get()));
  MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  EXPECT_TRUE(product.is_right());
}

TEST_F(GpuLibraryWorkspace, IsOpenedAndClosedBesideACaptureOfAnotherStream) {
  Product product(problem_, {});
  const Stream other = make_stream();
  MMTUNE_CUDA(cuStreamBeginCapture(other.get(), CU_STREAM_CAPTURE_MODE_GLOBAL));
  {
    Library library = open();
    library.gemm(product.call(), stream_.get());
    const HarmlessToCaptures harmless;
    MMTUNE_CUDA(cuStreamSynchronize(stream_.get()));
  }
  CUgraph captured = nullptr;
  MMTUNE_CUDA(cuStreamEndCapture(other.get(), &captured));
  EXPECT_NE(captured, nullptr) << "the capture goes on";
  const Graph graph(captured);
  EXPECT_TRUE(product.is_right());
}

TEST_F(GpuLibraryWorkspace, AreNotSharedWithADestroyedStreamOfTheSameHandle) {
  Library library = open();
  constexpr int kProducts = 32;
  std::vector<std::unique_ptr<Product>> products;
  for (int i = 0; i < kProducts; ++i)
    products.push_back(std::make_unique<Product>(problem_, ProductOptions{.beta = 0}));
  for (const auto& product : products) {
    const Stream stream = make_stream();
    for (int i = 0; i < 50; ++i) library.enqueue(product->call(), stream.get());
  }  // The driver gives the handle to the next while the products still run.
  MMTUNE_CUDA(cuCtxSynchronize());
  for (const auto& product : products) EXPECT_TRUE(product->is_right());
}

}  // namespace
}  // namespace mmtune
