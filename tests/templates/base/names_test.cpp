#include "templates/base/names.h"

#include <gtest/gtest.h>

#include <string>

namespace mmtune {
namespace {

const std::vector<std::string_view> kFamilies{"naive", "simt", "skinny", "tiled", "tiled_coarsened"};

TEST(Names, NearIsAThirdOfTheLettersInAnyCase) {
  EXPECT_EQ(nearest_name("smit", kFamilies), "simt");
  EXPECT_EQ(nearest_name("SIMT", kFamilies), "simt");
  EXPECT_EQ(nearest_name("til", kFamilies), "tiled");
  EXPECT_EQ(nearest_name("tiled_coarse", kFamilies), "tiled_coarsened");
  EXPECT_EQ(nearest_name("dense", kFamilies), "");
  EXPECT_EQ(nearest_name("", kFamilies), "");
  EXPECT_EQ(nearest_name("simt", {}), "");
  EXPECT_EQ(nearest_name(std::string(1 << 24, 's'), kFamilies), "");
}

TEST(Names, OfEqualsTheFirstIsMeant) {
  EXPECT_EQ(nearest_name("BL", {"BM", "BN"}), "BM");
  EXPECT_EQ(nearest_name("BN", {"BM", "BN"}), "BN");
}

TEST(Names, AMessageAsksOnlyWhereOneIsNear) {
  EXPECT_EQ(known_names("smt", {"naive", "simt"}), "did you mean 'simt'? known are naive, simt");
  EXPECT_EQ(known_names("dense", {"naive", "simt"}), "known are naive, simt");
}

TEST(Names, AShellReadsAWordAsItWas) {
  EXPECT_EQ(shell_word("/data/a_b-1.db"), "/data/a_b-1.db");
  EXPECT_EQ(shell_word("/größe/a.db"), "/größe/a.db");
  EXPECT_EQ(shell_word("my results/a.db"), "'my results/a.db'");
  EXPECT_EQ(shell_word("it's; ls"), R"('it'\''s; ls')");
  EXPECT_EQ(shell_word("~/a.db"), "'~/a.db'") << "a name with a tilde, since the shell has replaced others";
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace mmtune
