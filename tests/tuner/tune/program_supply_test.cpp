#include "tuner/tune/program_supply.h"

#include "tests/tuner/faults_fixture.h"
#include "tuner/lanes/lane.h"

namespace mmtune::test {
namespace {

class ProgramSupplyTest : public FaultsTest {};

TEST_F(ProgramSupplyTest, WhatIsOrderedIsSuppliedOrMissed) {
  const SessionOptions session = options();
  const Problem& problem = session.problems.front();
  const std::vector<const Family*> families{&family_named("tiled")};
  const Preparation preparation(TemplateFiles::embedded(), pretended_gpu(), target_, Evidence::measured, "13.0");
  Store store = Store::open(session.database, OpenMode::read_write);
  CompilePool pool(TemplateFiles::embedded(), {.jobs = 1});
  CompileQueue compiler(pool);
  SpaceMemory spaces(families, preparation.device(), session.only);
  LostCompiles lost(store, preparation, std::chrono::seconds(1));
  CodeMemory code(preparation);
  const auto lane = make_model_lane(session.devices.front(), "13.0");
  RunProgress progress(1, 1);
  RunProgress::Search search = progress.begin(problem, 1);
  const Effort effort = effort_named("default");
  TrialBatch batch(store);
  const TuningSetup setup{session, effort, spaces, preparation, store,   compiler,
                          lost,    code,   *lane,  batch,       nullptr, search};
  ProgramSupply supply(setup);
  const auto order = [&](std::size_t number, const char* config) {
    supply.order(number, preparation.program(problem, {families.front(), completed("tiled", config)}));
  };

  order(0, "TILE=8 UNROLL=1");
  order(1, "TILE=8 UNROLL=2");
  const auto supplied = supply.next();
  ASSERT_TRUE(supplied);
  EXPECT_TRUE(supply.next());
  EXPECT_FALSE(supply.next());

  Binary stored = supplied->program.binary;
  EXPECT_TRUE(code.find(supplied->program.key.source_hash, store));
  for (const char* version : {"12.9", "13.0"}) {
    stored.nvrtc = version;
    store.put_compiled("source", stored);
    EXPECT_EQ(code.find("source", store).has_value(), stored.nvrtc == preparation.nvrtc()) << version;
  }

  order(2, "TILE=16 UNROLL=1");
  compiler.clear();
  EXPECT_THROW(supply.next(), std::logic_error);
}

}  // namespace
}  // namespace mmtune::test
