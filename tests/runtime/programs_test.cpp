#include "runtime/programs.h"

#include "templates/gpu_catalog.h"
#include "tests/runtime/stored_kernels.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

class ProgramsCompile : public test::NvrtcTest {};

TEST_F(ProgramsCompile, FallbackOfEveryPrecisionAndLayout) {
  const DeviceSpec device = catalog_gpu("h200");
  const DispatchTable table(device, {});
  Programs programs("none.db", device, TemplateFiles::embedded());
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      const Problem problem = packed_problem(precision, layout, 33, 35, 37);
      EXPECT_FALSE(programs.compile(table.choose(problem), problem).empty()) << to_string(problem);
    }
  }
}

TEST(Programs, StoredOnesComeFromTheDatabase) {
  const test::ScopedDirectory directory;
  const DeviceSpec device = catalog_gpu("h200");
  {
    Store store = Store::open(directory.file("test.db"), OpenMode::read_write);
    Source source;
    source.hash = "source";
    store.put_compiled(source.hash, test::pretended_binary(source, compile_target(device, {90})));
  }
  const Programs programs(directory.file("test.db"), device, TemplateFiles::embedded());
  EXPECT_EQ(programs.stored("binary-source"), "no machine code");
  EXPECT_THROW(programs.stored("another"), DatabaseError);
}

}  // namespace
}  // namespace mmtune
