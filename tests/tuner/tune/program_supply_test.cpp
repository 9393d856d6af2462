#include "tuner/tune/program_supply.h"

#include "tests/tuner/faults_fixture.h"
#include "tests/tuner/tuning_parts.h"

namespace mmtune::test {
namespace {

class ProgramSupplyTest : public FaultsTest {};

/// A supply of programs for the first problem.
struct Supplies : TuningParts {
  using TuningParts::TuningParts;

  void order(std::size_t number, const char* config) {
    supply.order(number, preparation.program(session.problems.front(), {families.front(), completed("tiled", config)}));
  }

  ProgramSupply supply{setup};
};

TEST_F(ProgramSupplyTest, WhatIsOrderedIsSuppliedOrMissed) {
  Supplies supplies(options(), target_, {});
  ProgramSupply& supply = supplies.supply;
  supplies.order(0, "TILE=8 UNROLL=1");
  supplies.order(1, "TILE=8 UNROLL=2");
  const auto supplied = supply.next();
  ASSERT_TRUE(supplied);
  EXPECT_TRUE(supply.next());
  EXPECT_FALSE(supply.next());

  Binary stored = supplied->program.binary;
  EXPECT_TRUE(supplies.code.find(supplied->program.key.source_hash, supplies.store));
  for (const char* version : {"12.9", "13.0"}) {
    stored.nvrtc = version;
    supplies.store.put_compiled("source", stored);
    EXPECT_EQ(supplies.code.find("source", supplies.store).has_value(), version == std::string("13.0")) << version;
  }

  supplies.order(2, "TILE=16 UNROLL=1");
  supplies.compiler.clear();
  EXPECT_THROW(supply.next(), std::logic_error);
}

TEST_F(ProgramSupplyTest, ProgramsAreAwaitedNoLongerThanAskedAndNoMoreAtOnceThanThePaceAllows) {
  const std::string hangs = candidate_text("tiled", "TILE=8 UNROLL=1");
  const std::string faults = "compile_hang@" + hangs + ";compile_log@" + path("log");
  const ScopedEnv scope("MMTUNE_TEST_FAULTS", faults.c_str());
  Supplies supplies(options(), target_, {.at_once = 1});
  CompileQueue other(supplies.pool, Turn::last);
  supplies.order(0, "TILE=8 UNROLL=1");  // nothing else is compiled for a second
  supplies.order(1, "TILE=16 UNROLL=1");
  while (lines("log").empty()) std::this_thread::yield();
  other.submit(0, source("TILE=16 UNROLL=2"), target_);
  EXPECT_FALSE(supplies.supply.next(std::chrono::steady_clock::now()));
  EXPECT_FALSE(supplies.supply.empty());

  const auto first = supplies.supply.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->outcome, Outcome::timed_out);
  const auto second = supplies.supply.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->number, 1U);
  EXPECT_TRUE(supplies.supply.empty());
  EXPECT_FALSE(supplies.supply.next(std::chrono::steady_clock::now()));
  EXPECT_EQ(lines("log"), (std::vector{hangs, candidate_text("tiled", "TILE=16 UNROLL=2"),
                                       candidate_text("tiled", "TILE=16 UNROLL=1")}))
      << "what comes last elsewhere had its turn";
}

}  // namespace
}  // namespace mmtune::test
