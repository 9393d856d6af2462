#include "tuner/tune/fallbacks.h"

#include "runtime/choose/dispatch.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

class Fallbacks : public test::NvrtcTest {};

TEST_F(Fallbacks, AreStoredOnceForEachPrecisionAndLayoutAndFoundByDispatch) {
  const TemporaryDirectory directory;
  Store store = Store::open(directory.file("test.db"), OpenMode::read_write);
  const DeviceSpec& device = catalog_gpu("h200");
  CompilePool pool(TemplateFiles::embedded(), {.jobs = 1});
  CompileQueue compiler(pool);
  const Preparation preparation(TemplateFiles::embedded(), device, compile_target(device, nvrtc_->supported()),
                                Evidence::predicted, nvrtc_->version());
  const std::vector<Problem> problems{packed_problem(Precision::fp16, Layout::nn, 64, 64, 64),
                                      packed_problem(Precision::fp16, Layout::nn, 96, 96, 96),
                                      packed_problem(Precision::fp32, Layout::tt, 64, 64, 64)};
  store_fallbacks(problems, preparation, compiler, store);
  EXPECT_EQ(store.check().binaries, 2);
  store_fallbacks(problems, preparation, compiler, store);
  EXPECT_EQ(store.check().binaries, 2);

  const DispatchTable dispatch(device, load_kernels(store, device, TemplateFiles::embedded()));
  const auto fallback = [&](Precision precision, Layout layout) {
    return dispatch.choose(packed_problem(precision, layout, 17, 33, 5));
  };
  EXPECT_EQ(fallback(Precision::fp16, Layout::nn).match, Match::fallback);
  EXPECT_FALSE(fallback(Precision::fp16, Layout::nn).binary_hash.empty());
  EXPECT_FALSE(fallback(Precision::fp32, Layout::tt).binary_hash.empty());
  EXPECT_TRUE(fallback(Precision::fp32, Layout::nn).binary_hash.empty());
}

}  // namespace
}  // namespace mmtune
