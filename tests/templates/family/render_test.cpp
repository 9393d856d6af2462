#include "templates/family/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/temporary_directory.h"
#include "templates/base/hash.h"
#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "test_paths.h"
#include "tests/templates/family/toy_family.h"

namespace mmtune {
namespace {

namespace fs = std::filesystem;

using test::toy_family;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kToyKernel =
    "#include \"mmtune/copy.cuh\"\n// ü \"\\n\"\n"
    "extern \"C\" __global__ void gemm(i64 m, i64 n, i64 k, Scalar alpha, const InputA* A, i64 lda, const InputB* B, "
    "i64 ldb, Scalar beta, Output* C, i64 ldc) {}\n";

/// A source tree with one kernel and three device headers, one of which nothing includes.
class Render : public ::testing::Test {
 protected:
  Render() {
    write("templates/families/toy/kernel.cu", kToyKernel);
    write("templates/device/numeric.cuh", "#pragma once\n#include \"mmtune/half.cuh\"\n");
    write("templates/device/half.cuh", "half\n");
    write("templates/device/copy.cuh", "copy\n");
    write("templates/device/unused.cuh", "unused\n");
  }

  void write(const std::string& path, std::string_view text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }

  Source rendered(std::string_view config = "BM=64 BN=32 WIDTH=1", Layout layout = Layout::tn, int target = 90,
                  const Fusion& fusion = {}) const {
    const Problem problem = packed_problem(Precision::fp16, layout, 256, 128, 64);
    const Config parsed = Config::parse(config);
    return render(TemplateFiles::from_directory(root_.string()), toy_family(), problem, parsed,
                  toy_family().plan(problem, parsed, catalog_gpu("h200")), target, fusion);
  }

  TemporaryDirectory directory_;
  const fs::path root_ = directory_.path();
};

TEST_F(Render, NamesTypesAndConstants) {
  const Source source = rendered();
  EXPECT_EQ(source.name, "toy");
  EXPECT_THAT(source.text, StartsWith("// toy BM=64 BN=32 WIDTH=1 for fp16 tn\n#include \"mmtune/numeric.cuh\"\n"));
  for (const char* line :
       {"using InputA = half_t;\nusing InputB = half_t;\nusing Output = half_t;\n", "using Accumulator = float;",
        "using Scalar = float;", "constexpr int ARCH = 90;", "constexpr bool TRANSPOSE_A = true;",
        "constexpr bool TRANSPOSE_B = false;", "constexpr int BM = 64;  // rows of C per block\n",
        "constexpr int VA = 4;", "constexpr int THREADS = 512;", "constexpr int SMEM_BYTES = 65536;"}) {
    EXPECT_THAT(source.text, HasSubstr(line));
  }
}

TEST_F(Render, EndsWithTheKernelUnderItsOwnName) {
  EXPECT_THAT(rendered().text, EndsWith("\n#line 1 \"templates/families/toy/kernel.cu\"\n" + std::string(kToyKernel)));
}

TEST_F(Render, HashFollowsWhatIsCompiled) {
  const std::string hash = rendered().hash;
  EXPECT_EQ(hash.size(), 32U);
  EXPECT_EQ(rendered().hash, hash);
  EXPECT_NE(rendered("BM=64 BN=64 WIDTH=1").hash, hash);
  EXPECT_NE(rendered("BM=64 BN=32 WIDTH=1", Layout::tt).hash, hash);
  EXPECT_NE(rendered("BM=64 BN=32 WIDTH=1", Layout::tn, 80).hash, hash);
}

TEST_F(Render, HashFollowsIncludedHeadersOnly) {
  const std::string hash = rendered().hash;
  write("templates/device/unused.cuh", "edited\n");
  EXPECT_EQ(rendered().hash, hash);
  write("templates/device/half.cuh", "edited, included by another header\n");
  EXPECT_NE(rendered().hash, hash);
}

TEST_F(Render, AnEpilogueIsTheTypeOfScalars) {
  write("templates/device/fused.cuh", "fused\n");
  const std::string plain = rendered().text;
  const std::string text = rendered("BM=64 BN=32 WIDTH=1", Layout::tn, 90, {Activation::gelu, Bias::per_row}).text;
  EXPECT_THAT(text, StartsWith("// toy BM=64 BN=32 WIDTH=1 for fp16 tn with bias per row and gelu\n"));
  const std::string lines =
      "using Number = float;\n"
      "[[maybe_unused]] constexpr int BIAS = 1;  // per row\n"
      "[[maybe_unused]] constexpr int ACTIVATION = 2;  // gelu\n"
      "[[maybe_unused]] constexpr bool LOADS_SCALARS = false;  // alpha and beta are addresses\n"
      "#include \"mmtune/fused.cuh\"\n";
  EXPECT_THAT(text, HasSubstr(lines));
  EXPECT_THAT(text, EndsWith(plain.substr(plain.find("[[maybe_unused]] constexpr int ARCH"))))
      << "all else is the same";
  EXPECT_EQ(plain.find("fused"), plain.npos);
}

TEST_F(Render, AFamilysOwnEpilogueComesBeforeItsKernel) {
  write("templates/device/fused.cuh", "fused\n");
  write("templates/families/toy/fused.cuh", "the toy's own\n");
  const Fusion fusion{Activation::relu, Bias::none};
  EXPECT_THAT(rendered("BM=64 BN=32 WIDTH=1", Layout::tn, 90, fusion).text,
              HasSubstr("#line 1 \"templates/families/toy/fused.cuh\"\nthe toy's own\n"
                        "#line 1 \"templates/families/toy/kernel.cu\"\n"));
  EXPECT_EQ(rendered().text.find("own"), std::string::npos);
}

TEST_F(Render, HashFollowsTheEpilogueOnlyWhereThereIsOne) {
  write("templates/device/fused.cuh", "fused\n");
  const auto hash = [&](const Fusion& fusion) { return rendered("BM=64 BN=32 WIDTH=1", Layout::tn, 90, fusion).hash; };
  const Fusion relu{Activation::relu, Bias::none}, rows{Activation::relu, Bias::per_row};
  const std::string plain = hash({}), fused = hash(relu);
  EXPECT_NE(fused, plain);
  EXPECT_NE(hash(rows), fused);
  write("templates/device/fused.cuh", "edited\n");
  EXPECT_EQ(hash({}), plain);
  EXPECT_NE(hash(relu), fused);
}

TEST_F(Render, ABatchIsAConstantOfTheProgram) {
  const std::string plain = rendered().text;
  EXPECT_THAT(plain, HasSubstr("constexpr bool BATCHED = false;"));
  const std::string batched = rendered("BM=64 BN=32 WIDTH=1", Layout::tn, 90, {.batched = true}).text;
  EXPECT_THAT(batched, StartsWith("// toy BM=64 BN=32 WIDTH=1 for fp16 tn with batched launches\n"));
  EXPECT_THAT(batched, HasSubstr("constexpr bool BATCHED = true;"));
  EXPECT_THAT(batched, HasSubstr("using Scalar = float;")) << "not those of an epilogue";
}

TEST(FinishPlan, CoversCInOneLaunchHoweverLargeItIs) {
  const auto plan = [](std::int64_t m, std::int64_t n) {
    return finish_plan(packed_problem(Precision::fp16, Layout::nn, m, n, 1));
  };
  EXPECT_EQ(plan_fault(plan(3, 5)), "");
  EXPECT_EQ(main_step(plan(3, 5)).grid.x, 1);
  EXPECT_EQ(main_step(plan(16, 17)).grid.x, 2);
  EXPECT_LE(main_step(plan(1 << 20, 1 << 20)).grid.x, 1 << 20);
}

TEST_F(Render, HoldsForAllExtents) {
  const TemplateFiles files = TemplateFiles::from_directory(root_.string());
  const Config config = Config::parse("BM=32 BN=32 WIDTH=1");
  const auto hash = [&](std::int64_t n) {
    const Problem problem = packed_problem(Precision::fp32, Layout::nn, n, n, n);
    const LaunchPlan plan = toy_family().plan(problem, config, catalog_gpu("h200"));
    return render(files, toy_family(), problem, config, plan, 90).hash;
  };
  EXPECT_EQ(hash(64), hash(4096));
}

TEST_F(Render, AnIncompleteConfigurationIsAnError) { EXPECT_THROW(rendered("BM=64"), Error); }

TEST_F(Render, AKernelThatExpectsOtherArgumentsIsAnError) {
  std::string text(kToyKernel);
  text.replace(text.find("i64 m, i64 n"), 12, "i64 n, i64 m");
  write("templates/families/toy/kernel.cu", text);
  EXPECT_THAT([&] { rendered(); },
              ::testing::ThrowsMessage<Error>(
                  HasSubstr("templates/families/toy/kernel.cu: parameter 0 of gemm is 'n', the plan passes 'm'; ")));
}

TEST_F(Render, MissingFilesAreNamed) {
  const TemplateFiles files = TemplateFiles::from_directory(root_.string());
  EXPECT_THAT([&] { (void)files.text("templates/families/none/kernel.cu"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("templates/families/none/kernel.cu")));
  EXPECT_THAT([&] { TemplateFiles::from_directory((root_ / "nowhere").string()); },
              ::testing::ThrowsMessage<Error>(HasSubstr("nowhere")));
}

TEST(TemplateFilesTest, EmbeddedFilesAreThoseOfTheSourceTree) {
  const TemplateFiles& embedded = TemplateFiles::embedded();
  const TemplateFiles tree = TemplateFiles::from_directory(MMTUNE_SOURCE_DIR);
  EXPECT_EQ(embedded.device_headers().size(), tree.device_headers().size());
  for (const auto& [name, text] : tree.device_headers())
    EXPECT_TRUE(embedded.device_headers().at(name) == text) << name;
  for (const Family* family : families()) {
    const std::string path = "templates/families/" + std::string(family->name()) + "/kernel.cu";
    EXPECT_TRUE(embedded.text(path) == tree.text(path)) << path;
  }
}

TEST(SourceHashesTest, AreThoseOfRenderedSources) {
  SourceHashes hashes(TemplateFiles::embedded());
  const DeviceSpec& device = catalog_gpu("h200");
  std::size_t compared = 0;
  for (const Family* family : families()) {
    for (const std::int64_t extent : {1024, 1001}) {  // These extents have different alignments.
      for (const Layout layout : kAllLayouts) {
        const Problem problem = packed_problem(Precision::fp32, layout, extent, extent, extent);
        const Config config = family->default_config(problem);
        const auto plan = family->legal_plan(problem, config, device);
        if (!plan) continue;
        EXPECT_EQ(hashes.hash(*family, problem, config, *plan, 90),
                  render(TemplateFiles::embedded(), *family, problem, config, *plan, 90).hash)
            << family->name() << " " << to_string(problem);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 8u);
}

TEST(RepeatedBytesTest, MakeOfEveryHashWhatTheBytesMake) {
  const std::string text = "any text\x80\xff of an odd length";
  RepeatedBytes repeated(text);
  ContentHash before;
  for (int i = 0; i < 1000; ++i) {  // several hashes for each of the 256 constants
    before.add_bytes(std::string(1, static_cast<char>(i * 7)));
    ContentHash expected = before;
    ContentHash hash = before;
    repeated.add_to(hash);
    ASSERT_EQ(hash.hex(), expected.add_bytes(text).hex()) << i;
  }
}

TEST(ContentHashTest, TellsBoundariesApart) {
  EXPECT_NE(ContentHash().add("ab").add("c").hex(), ContentHash().add("a").add("bc").hex());
  EXPECT_NE(ContentHash().add("").hex(), ContentHash().hex());
  EXPECT_EQ(ContentHash().hex(), "6c62272e07bb014262b821756295c58d");
}

TEST(ContentHashTest, EveryByteCounts) {
  const std::string zeros(4, '\0');
  EXPECT_NE(ContentHash().add(zeros).hex(), ContentHash().add(zeros.substr(1)).hex());
  EXPECT_NE(ContentHash().add("\x80").hex(), ContentHash().add("\x81").hex());
}

}  // namespace
}  // namespace mmtune
