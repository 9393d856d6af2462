// Candidates of the same machine code are measured once, as far as they are also launched in the same way.
#include <gtest/gtest.h>

#include <algorithm>

#include "templates/family/families.h"
#include "tests/tuner/faults_fixture.h"

namespace mmtune::test {
namespace {

class Twins : public FaultsTest {};

TEST_F(Twins, AreMeasuredOnceWhereTheyAreLaunchedAlike) {
  SessionOptions session = options();
  session.only = only("TILE=8,16 UNROLL=1,2");
  run(session, "compile_alike@*;log@" + path("ran"));
  const std::vector<std::string> ran = lines("ran");
  const auto times = [&](const std::string& tile) {
    return std::count_if(ran.begin(), ran.end(), [&](const auto& line) { return line.find(tile) != line.npos; });
  };
  EXPECT_EQ(times("TILE=8 "), 1);
  EXPECT_EQ(times("TILE=16 "), 1);
  EXPECT_EQ(trials().size(), 4U);
}

TEST_F(Twins, OfAListAreMeasuredOnceToo) {
  SessionOptions session = options();
  session.mode = SessionMode::measure([](const Problem&) {
    std::vector<Candidate> candidates;
    for (const char* config : {"TILE=8 UNROLL=1", "TILE=8 UNROLL=1", "TILE=8 UNROLL=2"}) {
      candidates.push_back({&family_named("tiled"), completed("tiled", config)});
    }
    return candidates;
  });
  run(session, "compile_alike@*;log@" + path("ran"));
  EXPECT_EQ(lines("ran").size(), 1U);
  EXPECT_EQ(trials().size(), 2U);
}

}  // namespace
}  // namespace mmtune::test
