// MMTUNE_RECORD: what an application multiplied.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "runtime/call/call_record.h"
#include "tests/api/fixture.h"

namespace mmtune {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Record : public test::ApiTest {
 protected:
  void SetUp() override { offer(Precision::fp32); }

  std::string path() const { return directory_.file("calls.csv"); }

  std::vector<float> memory_ = std::vector<float>(4096);
  float* const data_ = memory_.data();
};

TEST_F(Record, CallsAreCountedByShapeAndWrittenAtTheEnd) {
  const test::ScopedEnv record("MMTUNE_RECORD", path().c_str());
  double expected_us = 0;
  {
    Library library = Library::open();
    const Gemm often{.m = 3, .n = 4, .k = 5, .a = data_, .b = data_, .c = data_};
    Gemm shifted = often;
    shifted.a = data_ + 1;
    Gemm columns = often;
    columns.order = Order::column_major;
    columns.batch = 2;
    columns.stride_c = 100;
    for (int i = 0; i < 3; ++i) library.enqueue(often, nullptr);
    expected_us = library.gemm(shifted, nullptr).expected_us;
    library.enqueue(columns, nullptr);
    std::thread([&] { library.enqueue(often, nullptr); }).join();
    EXPECT_FALSE(std::filesystem::exists(path())) << "no call touches a file";
  }
  const std::string text = text_of(path());
  EXPECT_THAT(text, testing::StartsWith("precision,layout,m,n,k,count,seconds\n"));
  EXPECT_THAT(text, HasSubstr(fmt::format("\nfp32,nn,3,4,5,5,{:.6g}\n", 5 * expected_us * 1e-6)));
  EXPECT_THAT(text, HasSubstr("\nfp32,nn,4,3,5,2,")) << "column-major calls as the kernels see them";
}

TEST_F(Record, AForkedChildLeavesItToItsParent) {
  const test::ScopedEnv record("MMTUNE_RECORD", path().c_str());
  auto library = std::make_unique<Library>(Library::open());
  library->enqueue({.m = 3, .n = 4, .k = 5, .a = data_, .b = data_, .c = data_}, nullptr);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    library.reset();  // This is what exit() does to one that is a global variable.
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(path())) << "calls of the parent would count twice";
  library.reset();
  EXPECT_THAT(text_of(path()), HasSubstr("\nfp32,nn,3,4,5,1,"));
}

TEST_F(Record, LibrariesAddToOneFile) {
  const Problem small = packed_problem(Precision::bf16, Layout::tn, 1, 2, 3);
  const Problem large = packed_problem(Precision::fp32, Layout::nn, 100, 200, 300);
  append_record(path(), {{small, 2, 0.5}, {large, 1, 1.5}});
  append_record(path(), {{small, 1, 0.25}});
  EXPECT_EQ(text_of(path()),
            "precision,layout,m,n,k,count,seconds\n"
            "fp32,nn,100,200,300,1,1.5\nbf16,tn,1,2,3,2,0.5\nbf16,tn,1,2,3,1,0.25\n");
}

TEST_F(Record, AnotherFileIsLeftAsItIs) {
  std::ofstream(path()) << "a letter\n";
  EXPECT_THROW(append_record(path(), {{packed_problem(Precision::fp32, Layout::nn, 1, 2, 3), 1, 1}}), Error);
  EXPECT_EQ(text_of(path()), "a letter\n");
  EXPECT_THROW(
      append_record(directory_.file("none/calls.csv"), {{packed_problem(Precision::fp32, Layout::nn, 1, 2, 3), 1, 1}}),
      Error);
}

/// No file of this process grows beyond so many bytes.
class FileLimit {
 public:
  explicit FileLimit(std::size_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

TEST_F(Record, WhatDoesNotFitIsNotBegun) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 100, 200, 300);
  for (const std::size_t room : {0, 1, 20, 36, 40, 60}) {
    const FileLimit limit(room);
    EXPECT_THROW(append_record(path(), {{problem, 2, 0.5}}), Error);
    EXPECT_EQ(text_of(path()), "") << room;
  }
  append_record(path(), {{problem, 2, 0.5}});
  const std::string before = text_of(path());
  for (const std::size_t more : {0, 1, 10, 25}) {
    const FileLimit limit(before.size() + more);
    EXPECT_THROW(append_record(path(), {{problem, 1, 0.25}}), Error);
    EXPECT_EQ(text_of(path()), before) << more;
  }
}

TEST_F(Record, ARowThatWasCutShortIsMarked) {
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 1, 2, 3);
  std::ofstream(path()) << kRecordHeading << "\nfp32,nn,100,200,30";
  append_record(path(), {{problem, 2, 0.5}});
  EXPECT_EQ(text_of(path()), std::string(kRecordHeading) + "\nfp32,nn,100,200,30 (cut short)\nfp32,nn,1,2,3,2,0.5\n");
  std::ofstream(path()) << kRecordHeading.substr(0, 7);
  append_record(path(), {{problem, 2, 0.5}});
  EXPECT_EQ(text_of(path()), std::string(kRecordHeading) + "\nfp32,nn,1,2,3,2,0.5\n") << "a heading cut short";
}

TEST_F(Record, AFileThatStaysLockedIsNotWaitedFor) {
  const int file = open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  try {
    append_record(path(), {{packed_problem(Precision::fp32, Layout::nn, 1, 2, 3), 2, 0.5}});
    ADD_FAILURE() << "it was locked";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("kept it locked for 50 ms"));
  }
  std::thread unlock([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    close(file);
  });
  append_record(path(), {{packed_problem(Precision::fp32, Layout::nn, 1, 2, 3), 2, 0.5}});
  unlock.join();
  EXPECT_THAT(text_of(path()), HasSubstr("\nfp32,nn,1,2,3,2,0.5\n"));
}

TEST_F(Record, AFileThatCannotBeWrittenStopsNoApplication) {
  const test::ScopedEnv record("MMTUNE_RECORD", directory_.file("none/calls.csv").c_str());
  Library library = Library::open();
  EXPECT_NO_THROW(library.enqueue({.m = 3, .n = 4, .k = 5, .a = data_, .b = data_, .c = data_}, nullptr));
}

}  // namespace
}  // namespace mmtune
