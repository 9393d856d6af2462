// What databases hold of covers is read as it was written.
#include "tuner/cover/cover_state.h"

#include <gtest/gtest.h>

namespace mmtune {
namespace {

TEST(CoverState, StoredTextsNeverChange) {
  EXPECT_EQ(stored_search(CoverState::searched), "cover share");
  EXPECT_EQ(stored_search(CoverState::covered), "cover");
  EXPECT_EQ(stored_search(CoverState::measured), "covered");
}

TEST(CoverState, IsReadFromTheSearchOfADecision) {
  for (const CoverState state : {CoverState::searched, CoverState::covered, CoverState::measured}) {
    EXPECT_EQ(cover_state(stored_search(state)), state);
  }
  EXPECT_EQ(cover_state("0123456789abcdef0123456789abcdef"), CoverState::open) << "a search of mmtune tune";
  EXPECT_EQ(cover_state(""), CoverState::open) << "a search that was cut";
}

}  // namespace
}  // namespace mmtune
