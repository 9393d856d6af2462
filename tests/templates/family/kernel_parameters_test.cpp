#include "templates/family/kernel_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "templates/family/render.h"

namespace mmtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kText = R"(
__global__ void not_ours(int x) {}
extern "C" __global__ void __launch_bounds__(THREADS, (MIN_BLOCKS + 1))
    gemm(i64 m, Scalar alpha, PerProduct<const InputA* __restrict__> A, Pair<int, int*> pair,
         const __grid_constant__ ProductMap map_a) {
  call(m, alpha);
}
extern "C" __global__ void idle() {}
)";

TEST(KernelParametersTest, AreReadFromTheText) {
  const auto kernels = declared_kernels(kText);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].kernel, "gemm");
  EXPECT_THAT(kernels[0].parameters, ElementsAre(KernelParameter{"i64", "m"}, KernelParameter{"Scalar", "alpha"},
                                                 KernelParameter{"PerProduct<const InputA* __restrict__>", "A"},
                                                 KernelParameter{"Pair<int, int*>", "pair"},
                                                 KernelParameter{"const __grid_constant__ ProductMap", "map_a"}));
  EXPECT_EQ(kernels[1].kernel, "idle");
  EXPECT_TRUE(kernels[1].parameters.empty());
  EXPECT_TRUE(declared_kernels("extern \"C\" __global__").empty());
  EXPECT_TRUE(declared_kernels("").empty());
}

/// Of a plan that passes these arguments to two_numbers(i64 n, i64 parts, Scalar beta).
std::string fault_of_args(std::vector<Arg> args, std::string kernel = "two_numbers") {
  LaunchPlan plan;
  plan.steps.push_back({.kernel = std::move(kernel), .args = std::move(args)});
  return argument_fault(plan,
                        declared_kernels("extern \"C\" __global__ void two_numbers(i64 n, i64 parts, Scalar beta) {}"));
}

TEST(KernelParametersTest, ArgumentsAreInTheKernelsOrder) {
  const Arg n = Arg::extent(Extent::n), parts = Arg::number(4).as("parts"), beta = Arg::scalar(Scalar::beta);
  EXPECT_EQ(fault_of_args({n, parts, beta}), "");
  EXPECT_EQ(fault_of_args({parts, n, beta}), "parameter 0 of two_numbers is 'n', the plan passes 'parts'");
  EXPECT_EQ(fault_of_args({n, Arg::number(4), beta}), "parameter 1 of two_numbers is 'parts', the plan passes ''");
  EXPECT_EQ(fault_of_args({n, Arg::slice(0).as("parts"), beta}),
            "parameter 'parts' of two_numbers is a number, the plan passes an address");
  EXPECT_EQ(fault_of_args({n, parts}), "two_numbers has 3 parameters, the plan passes 2 arguments");
  EXPECT_EQ(fault_of_args({n, parts, beta, n}), "two_numbers has 3 parameters, the plan passes 4 arguments");
  EXPECT_EQ(fault_of_args({n, parts, beta}, "reduce"), "there is no kernel 'reduce'");
}

/// The words of a text, as names are made of: of an expression, its last one.
std::string last_word(std::string_view text) {
  const auto is_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto end = std::find_if(text.rbegin(), text.rend(), is_of_word);
  const auto begin = std::find_if_not(end, text.rend(), is_of_word);
  return {begin.base(), end.base()};
}

std::vector<std::string> last_words(std::string_view list) {
  std::vector<std::string> words;
  for (std::size_t end = 0; !list.empty(); list.remove_prefix(std::min(list.size(), end + 1))) {
    end = list.find(',');
    words.push_back(last_word(list.substr(0, end)));
    if (end == std::string_view::npos) break;
  }
  return words;
}

/// The members of a struct that begins so, in their order.
std::vector<std::string> members_of(std::string_view begin, std::string_view text) {
  std::vector<std::string> members;
  std::size_t at = text.find('\n', text.find(begin)) + 1;
  for (;;) {  // a line without a semicolon, or with a function, ends them
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    const std::size_t end = line.find(';');
    if (end == std::string_view::npos || line.find('(') < end) return members;
    for (std::string& word : last_words(line.substr(0, end))) members.push_back(std::move(word));
    at += line.size() + 1;
  }
}

/// A kernel hands its parameters on as the members of a struct by their places: the names must be the same there.
TEST(KernelParametersTest, AreHandedOnInTheOrderOfMembers) {
  struct HandedOn {
    std::string family, begin, declared, file;
    std::size_t members;
  };
  const std::string product = "templates/device/mma_product.cuh";
  for (const auto& [family, begin, declared, file, count] :
       {HandedOn{"simt", "run({", "struct Call {", "templates/families/simt/kernel.cu", 15},
        HandedOn{"mma_sync", "const Call call{{", "struct ProductOfTiles {", product, 12},
        HandedOn{"mma_sync", "partial}, ", "struct Call :", "templates/families/mma_sync/kernel.cu", 2},
        HandedOn{"mma_fp16x3", "const Product product{", "struct ProductOfTiles {", product, 12}}) {
    const TemplateFiles& files = TemplateFiles::embedded();
    const std::string_view text = files.text("templates/families/" + family + "/kernel.cu");
    const std::vector<std::string> members = members_of(declared, files.text(file));
    ASSERT_GE(members.size(), count) << family;
    std::size_t calls = 0;
    for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at)) {
      at += begin.size();
      std::vector<std::string> words = last_words(text.substr(at, text.find('}', at) - at));
      ASSERT_EQ(words.size(), members.size()) << family;
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "k_tiles_of_block") words[i] = "k_tiles";
        if (family == "mma_sync" && words[i] == "sums") words[i] = "handed";
        if (words[i] == "planes_a") words[i] = "A";
        if (words[i] == "planes_b") words[i] = "B";
        if (words[i] == "planes_ld") words[i] = members[i - 1] == "A" ? "lda" : "ldb";
        EXPECT_TRUE(words[i] == "nullptr" || words[i] == members[i])
            << family << ": " << words[i] << " for " << members[i];
      }
      ++calls;
    }
    EXPECT_GE(calls, 1u) << family;
  }
}

}  // namespace
}  // namespace mmtune
