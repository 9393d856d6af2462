// What is kept of a compilation.
#include "tuner/tune/preparation.h"

#include <gtest/gtest.h>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tuner/text/sizes.h"
#include "tuner/tune/search_identity.h"

namespace mmtune {
namespace {

/// Only blocks of the step that multiplies must fit an SM with the registers that this step has: others, which are
/// launched in smaller blocks, may use more.
TEST(Preparation, CountsTheRegistersOfTheStepThatMultiplies) {
  const Preparation preparation(TemplateFiles::embedded(), catalog_gpu("h200"), CompileTarget{90, true, "sm_90a"},
                                Evidence::measured, "13.0");
  Compilation compilation;
  compilation.kernels = {{"reduce", 4}, {"gemm", 168}, {"decide", 249}};
  EXPECT_EQ(preparation.binary(compilation).registers, 168);
  const Problem problem = packed_problem(Precision::fp32_emulated, Layout::nn, 4096, 4096, 4096);
  const Family& family = family_named("wgmma_fp16x3");
  Program program = preparation.program(problem, {&family, family.with_defaults({}, problem)});
  program.binary = preparation.binary(compilation);
  EXPECT_EQ(preparation.compiled_trial(program, {}).note, "");

  compilation.kernels = {{"reduce", 4}, {"skinny", 40}};
  EXPECT_EQ(preparation.binary(compilation).registers, 40);
}

/// The longest k: its planes have more rows than the accelerator's coordinates reach.
TEST(SearchIdentity, NeedsNoDefaultThatCanBeLaunched) {
  const Preparation preparation(TemplateFiles::embedded(), catalog_gpu("h200"), CompileTarget{90, true, "sm_90a"},
                                Evidence::measured, "13.0");
  const Problem longest = packed_problem(Precision::fp32_emulated, Layout::nn, 8, 8, kMaxExtent);
  const SearchIdentity search({}, searched_families({"wgmma_fp16x3"}), preparation, longest);
  EXPECT_NE(search.stored(SearchEnd::complete), "");
}

}  // namespace
}  // namespace mmtune
