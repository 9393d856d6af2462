// The documents' cases, what becomes of them on a model, and how results are kept and laid out.
#include "tuner/documents/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mmtune/error.h>

#include <cmath>
#include <fstream>
#include <set>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "tests/tuner/cli_fixture.h"
#include "tuner/documents/study_file.h"
#include "tuner/documents/study_table.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<StudyCase> all_cases() {
  std::vector<StudyCase> cases;
  for (const StudyDocument& document : study_documents()) {
    for (StudyCase& each : study_cases(document.name)) cases.push_back(std::move(each));
  }
  return cases;
}

const StudyCase& case_of(const std::vector<StudyCase>& cases, std::string_view table, std::string_view row,
                         std::string_view column) {
  for (const StudyCase& each : cases) {
    if (each.table == table && each.row == row && each.column == column) return each;
  }
  throw std::runtime_error("no such case");
}

TEST(StudyCases, CanRunOnEveryGpuAndAreTold) {
  std::set<std::string> names;
  for (const StudyCase& each : all_cases()) {
    SCOPED_TRACE(each.document + each.table + each.row + each.column);
    EXPECT_TRUE(names.insert(each.document + '|' + each.table + '|' + each.row + '|' + each.column).second);
    if (each.family == kHostFamily || each.family == kTunedFamily) continue;
    const Family& family = family_named(each.family);
    const Config config = family.with_defaults(Config::parse(each.config), each.problem);
    EXPECT_EQ(config.text(), each.config) << "complete, in table order";
    for (const auto& [key, gpu] : gpu_catalog()) EXPECT_EQ(family.broken_rule(each.problem, config, gpu), "") << key;
  }
}

TEST(StudyCases, HaveThePublishedFigures) {
  const auto s0 = study_cases("s0"), s1 = study_cases("s1"), s2 = study_cases("s2"), s4 = study_cases("s4");
  EXPECT_EQ(case_of(s0, "1 by size", "10000", "baseline").published_kernel_ms, 231670);
  EXPECT_EQ(case_of(s0, "1 by size", "10000", "shared").published_total_ms, 9490);
  EXPECT_EQ(case_of(s0, "2 by block at 10000", "1", "shared").published_kernel_ms, 1273660);
  EXPECT_EQ(case_of(s1, "1 kernels by size and tile", "8192 tile 16", "coarsened").published_kernel_ms, 18088.15);
  EXPECT_EQ(case_of(s2, "1 one core and the GPU, end to end", "4096", "linear").published_total_ms, 570);
  EXPECT_EQ(case_of(s4, "1 kernels", "block_coarse", "n = 1024").published_kernel_ms, 111);
  EXPECT_NEAR(flops(case_of(s4, "1 kernels", "block_shared", "n = 1024").problem) / 2.05e6, 1050, 5) << "GFLOP/s";
}

class StudyOnAModel : public Cli {
 protected:
  Study study(const char* gpu) const {
    return {{catalog_gpu(gpu), -1}, nullptr, DispatchTable(catalog_gpu(gpu), {}), {.host_through = 48}};
  }
};

TEST_F(StudyOnAModel, PredictsKernelsAndRunsLoopsOnTheHost) {
  Study on_model = study("gt740m");
  const auto s1 = study_cases("s1");
  const StudyResult tiled = on_model.run(case_of(s1, "1 kernels by size and tile", "4096 tile 16", "tiled"));
  EXPECT_EQ(tiled.origin, Origin::predicted);
  EXPECT_GT(tiled.kernel_ms, 500);
  EXPECT_LT(tiled.kernel_ms, 10000) << "2764.95 ms were measured";
  const StudyResult tuned = on_model.run(case_of(s1, "tuned", "1024", "int32"));
  EXPECT_GT(tuned.kernel_ms, 0);
  EXPECT_LT(tuned.kernel_ms, 38.94) << "the document's best";
  EXPECT_NE(tuned.what.family, kTunedFamily);
  const StudyResult host = on_model.run(case_of(study_cases("s4"), "1 kernels", "cpu_blocked", "n = 1024"));
  EXPECT_EQ(host.origin, Origin::extrapolated);
  EXPECT_THAT(host.note, HasSubstr("48x48x48"));
  EXPECT_GT(host.kernel_ms, 1);
}

TEST_F(StudyOnAModel, AFileKeepsWhatIsKnown) {
  Study on_model = study("k20c");
  const auto cases = study_cases("s0");
  const StudyCase& what = case_of(cases, "1 by size", "2000", "shared");
  const std::string file = path("study.csv");
  const StudyResult result = on_model.run(what);
  StudyFile(file).add(result);
  std::ofstream(file, std::ios::app) << "s0,1 by size,3000,sha";  // what a writer leaves that is killed
  StudyFile again(file);
  const auto known = again.find(what, result.gpu);
  ASSERT_TRUE(known);
  EXPECT_NEAR(known->kernel_ms, result.kernel_ms, 1e-6);
  EXPECT_TRUE(std::isnan(known->total_ms));
  EXPECT_EQ(known->origin, Origin::predicted);
  EXPECT_EQ(known->what.config, what.config);
  EXPECT_FALSE(again.find(what, "another GPU"));
  EXPECT_FALSE(again.find(case_of(cases, "1 by size", "3000", "shared"), result.gpu));
  again.add(on_model.run(case_of(cases, "1 by size", "3000", "shared")));
  EXPECT_TRUE(StudyFile(file).find(case_of(cases, "1 by size", "3000", "shared"), result.gpu));
}

TEST_F(StudyOnAModel, AForeignFileIsLeftAlone) {
  std::ofstream(path("notes.csv")) << "my notes\n";
  EXPECT_THROW(StudyFile(path("notes.csv")), UsageError);
  EXPECT_EQ(content(path("notes.csv")), "my notes\n");
  EXPECT_THROW(StudyFile("/nowhere/study.csv"), Error);
}

std::vector<StudyResult> published_as_results(const char* document) {
  std::vector<StudyResult> results;
  for (const StudyCase& each : study_cases(document)) {
    StudyResult result;
    result.what = each;
    result.gpu = "as published";
    result.kernel_ms = each.published_kernel_ms.value_or(each.published_total_ms.value_or(1));
    result.total_ms = each.published_total_ms.value_or(result.kernel_ms);
    results.push_back(result);
  }
  return results;
}

TEST(StudyConclusions, HoldForThePublishedFigures) {
  EXPECT_THAT(study_conclusion(published_as_results("s0"), "s0"),
              AllOf(StartsWith("holds: "), HasSubstr("23.00 to 30.94 times as fast")));
  EXPECT_THAT(study_conclusion(published_as_results("s2"), "s2"),
              AllOf(StartsWith("holds: "), HasSubstr("731 times at 4096")));
  EXPECT_THAT(study_conclusion(published_as_results("s4"), "s4"), StartsWith("holds: "));
  EXPECT_THAT(study_conclusion(published_as_results("s1"), "s1"),
              AllOf(StartsWith("holds: "), HasSubstr("1024: 1.26"), HasSubstr("8192: 1.26")));
}

TEST(StudyConclusions, FailWhereAFigureSpeaksAgainst) {
  auto results = published_as_results("s1");
  for (StudyResult& each : results) {
    if (each.what.row == "4096 tile 16" && each.what.column == "coarsened") each.kernel_ms *= 2;
  }
  EXPECT_THAT(study_conclusion(results, "s1"), StartsWith("does not hold: "));
  results.pop_back();
  std::erase_if(results, [](const StudyResult& each) { return each.what.column == "coarsened"; });
  EXPECT_EQ(study_conclusion(results, "s1"), "");
}

TEST(StudyTables, AreLaidOutLikeTheOriginal) {
  const auto tables = study_layout(published_as_results("s0"), "s0");
  ASSERT_GE(tables.size(), 4u);
  EXPECT_THAT(tables[0].first, AllOf(HasSubstr("1 by size"), HasSubstr("Tesla K20c")));
  EXPECT_EQ(tables[0].second.row_count(), 10u);
  EXPECT_THAT(tables[0].second.text(Format::csv),
              AllOf(StartsWith(",baseline published,baseline here,shared published,shared here,shared total published,"
                               "shared total here\n"),
                    HasSubstr("10000,231670.0,231670.0,7990.0,7990.0,9490.0,9490.0")));
}

TEST(StudyTables, RowsHaveStableColumns) {
  EXPECT_EQ(study_rows({}).text(Format::csv),
            "document,table,row,column,precision,m,n,k,family,config,origin,kernel_ms,total_ms,gflops,"
            "published_kernel_ms,published_total_ms,published_gflops,gpu,note\n");
}

TEST(StudyTables, ChartsHavePublishedFoundAndTunedSpeeds) {
  const auto charts = study_charts(published_as_results("s0"), "s0");
  ASSERT_EQ(charts.size(), 3u) << "one row is no chart, and the tuned kernels are in the others";
  ASSERT_EQ(charts[0].series.size(), 5u);
  EXPECT_EQ(charts[0].series[0].name, "baseline");
  EXPECT_EQ(charts[0].series[1].name, "baseline, published");
  EXPECT_TRUE(charts[0].series[1].is_reference);
  EXPECT_EQ(charts[0].series[4].name, "tuned");
  EXPECT_EQ(charts[0].series[1].points.size(), 10u);
  EXPECT_NEAR(charts[0].series[1].points.front().second, 2 * 1e9 / 0.230 * 1e-9, 1e-6) << "GFLOP/s of 230 ms";
  EXPECT_EQ(charts[1].series[0].points.front().first, 1) << "by block";
}

TEST(StudyTables, ChartsTellRowsOfOneSizeApart) {
  const auto charts = study_charts(published_as_results("s1"), "s1");
  ASSERT_EQ(charts.size(), 1u);
  ASSERT_EQ(charts[0].series.size(), 13u) << "three kernels of two tiles, as many published, and tuned";
  EXPECT_EQ(charts[0].series[4].name, "coarsened tile 16");
  for (const Series& series : charts[0].series) EXPECT_EQ(series.points.size(), 4u) << series.name;
}

TEST(StudyTables, ChartsNameRowsThatAreNoNumbers) {
  const auto charts = study_charts(published_as_results("s4"), "s4");
  ASSERT_EQ(charts.size(), 1u);
  ASSERT_EQ(charts[0].categories.size(), 7u) << "six kernels and tuned";
  EXPECT_EQ(charts[0].categories.back(), "tuned");
  ASSERT_EQ(charts[0].series.size(), 4u);
  EXPECT_EQ(charts[0].series[0].name, "n = 1024");
  EXPECT_EQ(charts[0].series[0].points.back().first, 6);
}

// S3: tile 16 and tile 32 on an SM of 1536 threads and 16 KiB.
TEST(SourceDocuments, LoadsAndOperationsOfATile) {
  const auto analyses = study_analyses("s3", catalog_gpu("h200"));
  ASSERT_EQ(analyses.size(), 1u);
  EXPECT_THAT(analyses[0].second.text(Format::csv),
              AllOf(HasSubstr("16,256,512,8192,16,\"1536 threads, 16 KiB\",6,8,4096\n"),
                    HasSubstr("32,1024,2048,65536,32,\"1536 threads, 16 KiB\",1,2,4096\n")));
}

TEST(SourceDocuments, BlocksOfTheCoarsenedKernel) {
  const auto analyses = study_analyses("s1", catalog_gpu("h200"));
  ASSERT_EQ(analyses.size(), 1u);
  EXPECT_THAT(analyses[0].second.text(Format::csv),
              AllOf(HasSubstr("GeForce GT 740M,256,11,3072,8,threads,64,100"),
                    HasSubstr("GeForce GT 740M,1024,11,12288,2,threads,64,100"),
                    HasSubstr("GeForce GT 740M,1024,11,49152,1,shared memory,32,50")));
}

}  // namespace
}  // namespace mmtune
