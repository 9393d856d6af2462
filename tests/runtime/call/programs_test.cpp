#include "runtime/call/programs.h"

#include "templates/gpu/gpu_catalog.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

class ProgramsCompile : public test::NvrtcTest {};

TEST_F(ProgramsCompile, FallbackOfEveryPrecisionAndLayout) {
  const DeviceSpec device = catalog_gpu("h200");
  const DispatchTable table(device, {});
  LockBudget budget{std::chrono::seconds(0)};
  Programs programs({"none.db"}, device, TemplateFiles::embedded(), budget);
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      const Problem problem = packed_problem(precision, layout, 33, 35, 37);
      EXPECT_FALSE(programs.compile(table.choose(problem), problem).empty()) << to_string(problem);
    }
  }
}

TEST(Programs, StoredOnesComeFromTheDatabase) {
  const TemporaryDirectory directory;
  const DeviceSpec device = catalog_gpu("h200");
  Source source;
  source.hash = "source";
  const Binary binary = test::pretended_binary(source, compile_target(device, {90}));
  Store::open(directory.file("test.db"), OpenMode::read_write).put_compiled(source.hash, binary);
  LockBudget budget{std::chrono::seconds(1)};
  const Programs programs({"none.db", directory.file("test.db")}, device, TemplateFiles::embedded(), budget);
  EXPECT_EQ(programs.stored(binary.hash), binary.cubin);
  EXPECT_THROW(programs.stored("another"), DatabaseError);
}

}  // namespace
}  // namespace mmtune
