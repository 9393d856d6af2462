#include "tuner/text/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Files : public Cli {
 protected:
  std::string file_with(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
};

template <class Call>
std::string error_text(Call call) {
  try {
    call();
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST_F(Files, ByteOrderMarkIsNoText) {
  EXPECT_EQ(read_text_file(file_with("a", "\xef\xbb\xbfm,n,k\n"), "file"), "m,n,k\n");
  EXPECT_EQ(read_text_file(file_with("b", ""), "file"), "");
}

TEST_F(Files, PipeIsReadToItsEnd) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([this] { std::ofstream(path("pipe")) << std::string(200'000, 'x') << "end"; });
  EXPECT_EQ(read_text_file(path("pipe"), "file"), fmt::format("{}end", std::string(200'000, 'x')));
  writer.join();
}

TEST_F(Files, PipeThatNothingWritesToIsGivenUp) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_text([this] { read_text_file(path("pipe"), "file 'pipe'"); }),
              AllOf(HasSubstr("file 'pipe'"), HasSubstr("within 10 s")));
}

TEST_F(Files, EndlessFileIsGivenUp) {
  EXPECT_THAT(error_text([] { read_text_file("/dev/zero", "file"); }), HasSubstr("more than 16 MiB"));
}

TEST_F(Files, WhatCannotBeReadSaysWhy) {
  EXPECT_THAT(error_text([this] { read_text_file(path("none"), "file"); }), HasSubstr("No such file"));
  EXPECT_THAT(error_text([this] { read_text_file(path(""), "file"); }), HasSubstr("directory"));
}

TEST_F(Files, NothingIsOverwrittenUnlessForced) {
  write_text_file(path("out"), "first", false);
  EXPECT_THAT(error_text([this] { write_text_file(path("out"), "second", false); }), HasSubstr("--force"));
  EXPECT_THAT(error_text([this] { check_writable(path("out"), false); }), HasSubstr("--force"));
  EXPECT_EQ(content(path("out")), "first");
  write_text_file(path("out"), "2", true);
  EXPECT_EQ(content(path("out")), "2");
  write_text_file("/dev/null", "a device", false);
}

TEST_F(Files, AreThereTogetherOrNotAtAll) {
  {
    NewFiles files(false);
    files.add(path("a"), "first");
    EXPECT_THROW(files.add(path("no/such/folder"), "second"), Error);
  }
  EXPECT_TRUE(std::filesystem::is_empty(path("")));
  NewFiles files(false);
  files.add(path("a"), "first");
  files.add(path("b"), "second");
  EXPECT_FALSE(std::filesystem::exists(path("a"))) << "not before all are whole";
  files.publish();
  EXPECT_EQ(content(path("a")) + content(path("b")), "firstsecond");
}

TEST_F(Files, FileThatDoesNotFitLeavesWhatWasThere) {
  const Result made = mmtune("tune --device model:t4 --sizes 16 --family tiled --effort quick");
  if (made.code == 3) GTEST_SKIP() << made.err;
  file_with("old.html", "what was there");
  for (const auto* name : {"new.html", "old.html"}) {
    const Result cut = shell(fmt::format("trap '' XFSZ; ulimit -f 8; MMTUNE_DB='{}' '{}' report -o '{}' --force",
                                         path("default.db"), MMTUNE_BINARY, path(name)));
    EXPECT_EQ(cut.code, 1);
    EXPECT_THAT(cut.err, AllOf(HasSubstr(name), HasSubstr("cannot be written"), HasSubstr("; check")));
  }
  EXPECT_FALSE(std::filesystem::exists(path("new.html")));
  EXPECT_EQ(content(path("old.html")), "what was there");
  for (const auto& each : std::filesystem::directory_iterator(path(""))) {
    EXPECT_FALSE(each.path().string().ends_with(".part")) << each.path();
  }
}

TEST_F(Files, LinkStaysALink) {
  file_with("real", "old");
  std::filesystem::create_symlink(path("real"), path("link"));
  write_text_file(path("link"), "new", true);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(content(path("real")), "new");
}

TEST_F(Files, DatabaseIsNeverOverwritten) {
  const std::string database("SQLite format 3\0 and more", 24);
  file_with("data", database);
  for (const bool force : {false, true}) {
    EXPECT_NE(error_text([&] { write_text_file(path("data"), "text", force); }), "");
  }
  EXPECT_EQ(content(path("data")), database);
}

TEST_F(Files, FolderThatIsMissingIsSaidBeforeTheWork) {
  EXPECT_THROW(check_writable(path("no/such/file"), false), Error);
  check_writable(path("such"), false);
  check_writable("such", false);
}

TEST_F(Files, DirectoryIsNoFile) {
  EXPECT_THAT(error_text([this] { check_writable(path(""), true); }), HasSubstr("no file"));
}

}  // namespace
}  // namespace mmtune
