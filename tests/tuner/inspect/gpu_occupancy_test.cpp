// The occupancy that is reckoned against the driver's own answer, and a GPU's properties.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/gpu/launch.h"
#include "templates/family/families.h"
#include "tests/runtime/support.h"
#include "tests/tuner/samples.h"
#include "tuner/documents/study.h"
#include "tuner/inspect/block_use.h"
#include "tuner/inspect/local_compiler.h"

namespace mmtune {
namespace {

class GpuOccupancy : public test::GpuTest {};

TEST_F(GpuOccupancy, IsTheDriversAnswer) {
  constexpr int kOfEach = 6;
  const DeviceSpec device = query_device(0);
  LocalCompiler compiler(device, Evidence::measured, &*nvrtc_);
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 1024, 1024, 1024);
  int checked = 0;
  for (const Family* family : families()) {
    for (const Config& config : test::Sampler(*family, device, 7).draw(problem, kOfEach)) {
      const Program program = compiler.program(*family, config, problem);
      const LoadedKernel kernel(program.binary.cubin, program.plan);
      const auto& steps = program.plan.steps;
      const auto step = static_cast<std::size_t>(&main_step(program.plan) - steps.data());
      int registers = 0, blocks = 0;
      MMTUNE_CUDA(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel.function(step)));
      BlockUse use = block_use_of(program, device);
      use.block.registers = registers;
      MMTUNE_CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.function(step), use.block.threads,
                                                              static_cast<std::size_t>(steps[step].smem_bytes)));
      EXPECT_EQ(occupancy(device, use.block).blocks_per_sm, blocks) << key_of(program.candidate);
      ++checked;
    }
  }
  EXPECT_GT(checked, 20);
}

TEST_F(GpuOccupancy, PropertiesAreThoseOfADeviceQuery) {
  const auto properties = query_properties(0);
  for (const char* name : {"memory bus width", "copy engines", "ECC", "unified addressing (UVA)"}) {
    const auto found =
        std::find_if(properties.begin(), properties.end(), [&](const auto& each) { return each.name == name; });
    ASSERT_NE(found, properties.end()) << name;
    EXPECT_NE(found->value, "") << name;
  }
}

class GpuStudy : public test::GpuTest {};

// Every kernel of the documents, also for sizes that no tile divides; each result is checked in whole.
TEST_F(GpuStudy, EveryKernelIsRight) {
  const DeviceChoice device{query_device(0), 0};
  Study study(device, &*nvrtc_, DispatchTable(device.spec, {}), {.host_through = 32});
  for (const StudyDocument& document : study_documents()) {
    for (StudyCase each : study_cases(document.name)) {
      each.problem = packed_problem(each.problem.precision, Layout::nn, 130, 77, 95);
      const StudyResult result = study.run(each);
      EXPECT_EQ(result.note.find("fault"), std::string::npos) << result.note;
      EXPECT_GT(result.kernel_ms, 0) << each.document << each.table << each.column << ": " << result.note;
      EXPECT_GT(result.total_ms, 0) << "with its copies";
    }
  }
}

}  // namespace
}  // namespace mmtune
