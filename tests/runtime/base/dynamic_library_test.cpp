#include "runtime/base/dynamic_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include "runtime/base/log.h"
#include "test_paths.h"

namespace mmtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(DynamicLibrary, SaysWhereItLookedAndWhatHelps) {
  try {
    const std::string no_library = MMTUNE_SOURCE_DIR "/CMakeLists.txt";
    DynamicLibrary::open("the oracle", {"liboracle.so.7", "/nowhere/liboracle.so", no_library}, "ask elsewhere");
    FAIL() << "opened a library that does not exist";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the oracle: tried liboracle.so.7, /nowhere/liboracle.so (cannot open"),
                                    HasSubstr("CMakeLists.txt (invalid ELF header"), HasSubstr("; ask elsewhere")));
  }
}

TEST(DynamicLibrary, ListsThePlacesOnlyForThoseWhoAsk) {
  const auto before = log::level();
  for (const auto level : {log::Level::warning, log::Level::info}) {
    log::set_level(level);
    testing::internal::CaptureStderr();
    try {
      DynamicLibrary::open("the oracle", {"liboracle.so.7", "/nowhere/liboracle.so"}, "ask elsewhere");
      ADD_FAILURE() << "opened a library that does not exist";
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot load the oracle: in none of 2 places"), HasSubstr("-v"),
                                      HasSubstr("; ask elsewhere"), Not(HasSubstr("/nowhere"))));
    }
    const auto listed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(listed.find("/nowhere/liboracle.so") != listed.npos, level == log::Level::info) << listed;
  }
  log::set_level(before);
}

TEST(DynamicLibrary, TakesTheFirstCandidateThatLoadsAndKnowsItsFile) {
  const auto library = DynamicLibrary::open("the C library", {"libnowhere.so", "libc.so.6"}, "");
  EXPECT_TRUE(library.path().starts_with("/")) << library.path();
  EXPECT_TRUE(library.path().ends_with("libc.so.6")) << library.path();
  EXPECT_NE(library.find("strlen"), nullptr);
}

TEST(DynamicLibrary, NamesAMissingFunction) {
  const auto library = DynamicLibrary::open("the C library", {"libc.so.6"}, "");
  EXPECT_EQ(library.find("no_such_function"), nullptr);
  try {
    library.require("no_such_function");
    FAIL() << "found a function that does not exist";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("no_such_function"), HasSubstr("libc.so.6")));
  }
}

}  // namespace
}  // namespace mmtune
