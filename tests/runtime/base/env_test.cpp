#include "runtime/base/env.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <set>

#include "test_paths.h"
#include "tests/runtime/support.h"

namespace mmtune {
namespace {

using test::ScopedEnv;
using testing::ElementsAre;

TEST(Env, ListsEverySwitchOnceWithHelp) {
  std::set<std::string_view> names;
  for (const auto& entry : env::switches()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.help.empty()) << entry.name;
  }
  EXPECT_TRUE(names.contains("MMTUNE_DB"));
}

TEST(Env, ThePageNamesEverySwitch) {
  std::ifstream page(MMTUNE_SOURCE_DIR "/docs/env.md");
  const std::string text{std::istreambuf_iterator<char>(page), std::istreambuf_iterator<char>()};
  for (const auto& entry : env::switches()) {
    EXPECT_THAT(text, testing::HasSubstr("| `" + std::string(entry.name) + "` |"));
  }
}

TEST(Env, ReadsListedSwitchesOnly) {
  const ScopedEnv set("MMTUNE_DB", "here.db");
  EXPECT_EQ(env::get("MMTUNE_DB"), "here.db");
  EXPECT_THROW(env::get("PATH"), Error);
}

TEST(Env, EmptyMeansUnset) {
  const ScopedEnv empty("MMTUNE_DUMP", "");
  EXPECT_EQ(env::get("MMTUNE_DUMP"), std::nullopt);
}

TEST(Env, DatabaseIsWhereSwitchThenXdgThenHomeSay) {
  const ScopedEnv home("HOME", "/home/user");
  const ScopedEnv xdg("XDG_DATA_HOME", "/data");
  {
    const ScopedEnv db("MMTUNE_DB", "mine.db");
    EXPECT_EQ(env::default_database(), "mine.db");
  }
  const ScopedEnv no_db("MMTUNE_DB", nullptr);
  EXPECT_EQ(env::default_database(), "/data/mmtune/mmtune.db");
  const ScopedEnv relative("XDG_DATA_HOME", "data");
  EXPECT_EQ(env::default_database(), "/home/user/.local/share/mmtune/mmtune.db");
  const ScopedEnv relative_home("HOME", "home/user");
  EXPECT_THROW(env::default_database(), DatabaseError);
  const ScopedEnv homeless("HOME", nullptr);
  EXPECT_THROW(env::default_database(), DatabaseError);
}

TEST(Env, LibraryDirectoriesFollowTheSwitchesAndNameNoneTwice) {
  const ScopedEnv mine("MMTUNE_CUDA_PATH", "/first");
  const ScopedEnv home("CUDA_HOME", "/second/");
  const ScopedEnv path("CUDA_PATH", "/second");
  const auto directories = env::cuda_library_directories();
  EXPECT_EQ(directories.front(), "/first/lib64");
  EXPECT_EQ(std::set<std::string>(directories.begin(), directories.end()).size(), directories.size());
  const auto place = [&](const std::string& name) {
    return std::find(directories.begin(), directories.end(), name) - directories.begin();
  };
  EXPECT_LT(place("/first/lib"), place("/second/lib64"));
  EXPECT_LT(place("/second/lib64"), place("/usr/local/cuda/lib64"));
  EXPECT_LT(place("/usr/local/cuda/lib64"), std::ssize(directories));
}

}  // namespace
}  // namespace mmtune
