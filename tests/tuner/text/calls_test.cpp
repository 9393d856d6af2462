#include "tuner/text/calls.h"

#include <gmock/gmock.h>
#include <mmtune/error.h>

#include <fstream>

#include "runtime/base/log.h"
#include "runtime/base/temporary_directory.h"

namespace mmtune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Calls : public testing::Test {
 protected:
  std::string file(const std::string& text) const {
    std::ofstream(directory_.file("calls.csv")) << text;
    return directory_.file("calls.csv");
  }

  std::vector<WeightedSize> read(const std::string& text) const { return read_calls(file(text)); }

  std::string fault(const std::string& text) const {
    try {
      read(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(Calls, WhatTakesMostTimeComesFirst) {
  EXPECT_THAT(read("precision,layout,m,n,k,count,seconds\nfp32,nn,64,32,16,100,0.5\nbf16,tn,8,4,2,1,2.5\n"),
              ElementsAre(WeightedSize{{8, 4, 2}, Precision::bf16, Layout::tn, 2.5},
                          WeightedSize{{64, 32, 16}, Precision::fp32, Layout::nn, 0.5}));
}

TEST_F(Calls, ColumnsStandInAnyOrderAndOthersAreIgnored) {
  EXPECT_THAT(read("k,count,n,colour,m\n1,5,2,red,3\n"), ElementsAre(WeightedSize{{3, 2, 1}, {}, {}, 5}));
}

TEST_F(Calls, LinesOfTheSameProductAreAdded) {
  EXPECT_THAT(read("m,n,k,count\n8,8,8,2\n9,9,9,4\n8,8,8,3\n"),
              ElementsAre(WeightedSize{{8, 8, 8}, {}, {}, 5}, WeightedSize{{9, 9, 9}, {}, {}, 4}));
}

TEST_F(Calls, WithoutAHeadingLinesAreExtentsAndAWeight) {
  EXPECT_THAT(read("# of yesterday\n\n64,32,16\n8,4,2,1.5\n"),
              ElementsAre(WeightedSize{{8, 4, 2}, {}, {}, 1.5}, WeightedSize{{64, 32, 16}, {}, {}, 1}));
}

TEST_F(Calls, ProductsOfNothingAreLeftOut) {
  EXPECT_THAT(read("m,n,k,seconds\n8,8,0,2\n9,9,9,0\n"), ElementsAre(WeightedSize{{9, 9, 9}, {}, {}, 1}));
  EXPECT_THAT(fault("m,n,k,seconds\n8,8,0,2\n"), HasSubstr("holds no sizes"));
}

TEST_F(Calls, FaultsNameTheLineAndTheCause) {
  EXPECT_THAT(fault("m,n,count\n1,2,3\n"), HasSubstr("does not name the columns m, n and k"));
  EXPECT_THAT(fault("m,n,k\n1,2,3\n1,x,3\n"), HasSubstr("calls.csv:3: 'x' is no extent"));
  EXPECT_THAT(fault("m,n,k\n1,-1,3\n"), HasSubstr("'-1' is no extent"));
  EXPECT_THAT(fault("m,n,k,count\n1,2,3\n"), HasSubstr("fewer columns than the heading"));
  EXPECT_THAT(fault("m,n,k,count\n1,2,3,-4\n"), HasSubstr("'-4' is no weight"));
  EXPECT_THAT(fault("m,n,k,count\n1,2,3,nan\n"), HasSubstr("'nan' is no weight"));
  EXPECT_THAT(fault("precision,m,n,k\nfp31,1,2,3\n"),
              HasSubstr("'fp31' is no precision; did you mean 'fp32'? known are fp32, fp64"));
  EXPECT_THAT(fault("layout,m,n,k\nnx,1,2,3\n"),
              HasSubstr("'nx' is no layout; did you mean 'nn'? known are nn, nt, tn, tt"));
  EXPECT_THAT(fault("1,2\n"), HasSubstr("expected m,n,k"));
  EXPECT_THAT(fault("m,n,k\n"), HasSubstr("holds no sizes"));
}

TEST_F(Calls, DamagedRowsOfARecordAreLeftOut) {
  const std::string whole = "precision,layout,m,n,k,count,seconds\nfp32,nn,64,32,16,100,0.5\n";
  const auto one = ElementsAre(WeightedSize{{64, 32, 16}, Precision::fp32, Layout::nn, 0.5});
  const std::string row = "bf16,tn,1024,512,256,20,12.5";
  for (std::size_t bytes = 1; bytes <= row.size(); ++bytes) {
    const std::string cut = row.substr(0, bytes);
    SCOPED_TRACE(cut);
    EXPECT_THAT(read(whole + cut), one) << "the file ends there";
    EXPECT_THAT(read(whole + cut + "fp32,nn,8,8,8,1,1\n"), one) << "another row was appended to it";
    EXPECT_THAT(read(whole + cut + " (cut short)\n"), one) << "the library saw it";
    EXPECT_EQ(parse_sizes("@" + file(whole + cut)), std::vector({Size{64, 32, 16}}));
  }
  EXPECT_THAT(fault("precision,layout,m,n,k,count,seconds\n" + row), HasSubstr("holds no sizes"));
}

TEST_F(Calls, WarningOfARecordNamesTheFirstFaultAndTheNumberOfRows) {
  const auto before = log::level();
  log::set_level(log::Level::warning);
  testing::internal::CaptureStderr();
  read("precision,layout,m,n,k,count,seconds\nfp32,nn,8,8,8,1,1\nfp31,nn,8,8,8,1,1\nfp32,nn,8,8\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("calls.csv:3: 'fp31' is no precision; did you mean 'fp32'?"),
                    HasSubstr("; left out like 1 more;")));
  log::set_level(before);
}

TEST_F(Calls, AreFilesWithCountsOrSeconds) {
  EXPECT_TRUE(are_calls(file("precision,layout,m,n,k,count,seconds\n")));
  EXPECT_TRUE(are_calls(file("m,n,k,count\n")));
  EXPECT_FALSE(are_calls(file("precision,layout,m,n,k,median_us\n")));
  EXPECT_FALSE(are_calls(file("")));
  EXPECT_FALSE(are_calls("/no/such/file"));
  EXPECT_FALSE(are_calls("/dev/null"));
}

}  // namespace
}  // namespace mmtune
