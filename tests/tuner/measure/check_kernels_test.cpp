// What judges candidates compiles for every precision and layout; that it judges right is for gpu_verify_test.cpp.
#include "tuner/measure/check_kernels.h"

#include <gtest/gtest.h>

#include "tests/runtime/support.h"

namespace mmtune {
namespace {

class CheckSource : public test::NvrtcTest {};

TEST_F(CheckSource, CompilesForEveryPrecisionWithEitherOperandEitherWay) {
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : {Layout::nn, Layout::tt}) {
      const CompileTarget target = test::sm(transposes_a(layout) ? 75 : 90);
      const Compilation compilation =
          diagnosing_->compile(check_source(precision, layout), TemplateFiles::embedded(), target);
      EXPECT_TRUE(compilation.ok()) << to_string(precision) << ' ' << to_string(layout) << ": " << compilation.log;
    }
  }
}

}  // namespace
}  // namespace mmtune
