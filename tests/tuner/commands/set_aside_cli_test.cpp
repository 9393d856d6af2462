// Candidates that ended their process or the machine, as the command line shows and pardons them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/store.h"
#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/templates/family/settings.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/tune/preparation.h"

namespace mmtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SetAsideCli : public Cli {
 protected:
  SetAsideCli() {
    kill(16);
    kill(16);
    kill(32);
  }

  Store store() const { return Store::open(path("default.db"), OpenMode::read_write); }

  static Config config(int tile) { return test::completed("tiled", fmt::format("TILE={} UNROLL=1", tile)); }

  /// One candidate ends its worker.
  void kill(int tile) const {
    const Preparation preparation{TemplateFiles::embedded(), catalog_gpu("h200"), CompileTarget{90, true, "sm_90a"},
                                  Evidence::measured, "13.0"};
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, 64, 64, 64);
    const Environment environment{"580.1", "13.0", "commit", "GPU"};
    const Program program = preparation.program(problem, {&family_named("tiled"), config(tile)});
    Trial trial = preparation.trial(program, environment);
    trial.outcome = Outcome::crashed;
    store().begin({{program.key, environment, "boot"}});
    store().put(trial);
  }
};

TEST_F(SetAsideCli, ShowListsThemWithTheirKills) {
  const Result shown = mmtune("show --set-aside --format csv");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, StartsWith("gpu,driver,family,config,kills,set_aside,last,source_hash\n"));
  EXPECT_THAT(shown.out, HasSubstr(fmt::format("\nNVIDIA H200,580.1,tiled,{},2,1,", config(16).text())));
  EXPECT_THAT(shown.out, HasSubstr(fmt::format("\nNVIDIA H200,580.1,tiled,{},1,0,", config(32).text())));
  EXPECT_THAT(mmtune("show --set-aside --device A100 --format csv").out, Not(HasSubstr("tiled")));
}

TEST_F(SetAsideCli, ShowListsCompilesThatWereLost) {
  const LostCompile lost{"abcd", "sm_90a", "13.0", "tiled", "TILE=64 UNROLL=1", Outcome::timed_out, 0, 1000, ""};
  store().put_lost_compile(lost);
  EXPECT_THAT(mmtune("show --set-aside --format csv").out,
              HasSubstr("\nsm_90a,NVRTC 13.0,tiled,TILE=64 UNROLL=1,1,0,"));
  store().put_lost_compile(lost);
  EXPECT_THAT(mmtune("show --set-aside --format csv").out,
              HasSubstr("\nsm_90a,NVRTC 13.0,tiled,TILE=64 UNROLL=1,2,1,"));
  EXPECT_EQ(mmtune("db prune --set-aside --format csv").out, "trials,set_aside,code\n2,3,0\n");
}

TEST_F(SetAsideCli, PruneOnlyCountsUntilItIsToldTo) {
  const Result counted = mmtune("db prune --set-aside");
  EXPECT_EQ(counted.code, 0) << counted.err;
  EXPECT_EQ(store().suspects().size(), 2U);
  const Result pruned = mmtune("db prune --set-aside --yes");
  EXPECT_EQ(pruned.code, 0) << pruned.err;
  EXPECT_TRUE(store().suspects().empty());
  EXPECT_TRUE(store().trials().empty()) << "they are tried again";
  EXPECT_THAT(mmtune("show --set-aside --format csv").out, Not(HasSubstr("tiled")));
}

}  // namespace
}  // namespace mmtune
