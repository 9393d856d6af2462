#include "templates/model/numbers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "templates/family/families.h"
#include "templates/gpu/gpu_catalog.h"
#include "templates/model/cost.h"
#include "test_paths.h"

namespace mmtune {
namespace {

namespace fs = std::filesystem;

TEST(ModelNumbersTest, EveryRowSaysWhatItIsAndWhereItComesFrom) {
  std::set<std::string_view> names;
  for (const ModelNumber& row : model_number_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_GE(row.source.text.size(), 10u) << row.name;
    ASSERT_FALSE(row.values.empty()) << row.name;
    for (std::size_t i = 1; i < row.values.size(); ++i) {
      EXPECT_LT(row.values[i - 1].from, row.values[i].from) << row.name;
      EXPECT_NE(row.values[i - 1].value, row.values[i].value) << row.name;
    }
  }
}

TEST(ModelNumbersTest, AValueHoldsUntilThereIsANewerOne) {
  const ModelNumber row{"any", "", {}, "", nullptr, {{50, 1}, {90, 2}}};
  EXPECT_EQ(row.value_for(30).value, 1) << "what is older than all has the first";
  EXPECT_EQ(row.value_for(89).value, 1);
  EXPECT_EQ(row.value_for(90).value, 2);
  EXPECT_EQ(row.value_for(121).value, 2);
  EXPECT_EQ(model_numbers(catalog_gpu("k20c")).issues, 2);
  EXPECT_EQ(model_numbers(catalog_gpu("h200")).issues, 1);
}

TEST(ModelNumbersTest, ADeviceMayHaveItsOwn) {
  const DeviceSpec& h200 = catalog_gpu("h200");
  const Problem problem = packed_problem(Precision::fp32, Layout::nn, 64, 64, 64);
  const Family& simt = family_named("simt");
  const auto expected_us = [&](const DeviceSpec& device) {
    return predict(problem, simt.plan(problem, simt.default_config(problem), device), device, 0).time_us;
  };
  ModelNumbers slower = model_numbers(h200);
  slower.launch_us += 5;
  DeviceSpec with_these = h200;
  with_these.numbers = &slower;
  EXPECT_NEAR(expected_us(with_these), expected_us(h200) + 5, 1e-9);
}

std::string code_of(const fs::path& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return std::regex_replace(text, std::regex("//[^\n]*|\"[^\"\n]*\""), "");
}

/// The sources that estimate: those of families, and the model.
std::vector<fs::path> estimating_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(MMTUNE_SOURCE_DIR "/templates/families")) {
    const std::string name = entry.path().filename();
    if (name == "family.cpp" || name == "shape.h" || name == "estimate.h") files.push_back(entry.path());
  }
  for (const auto& entry : fs::directory_iterator(MMTUNE_SOURCE_DIR "/templates/model")) {
    if (entry.path().extension() == ".cpp") files.push_back(entry.path());
  }
  return files;
}

TEST(ModelNumbersTest, EstimatesHaveNoNumbersOfTheirOwn) {
  const std::set<std::string> arithmetic{"0.0", "1.0", "2.0"};
  const std::regex fraction("(^|[^A-Za-z0-9_.])([0-9]+\\.[0-9]*)");
  for (const fs::path& path : estimating_files()) {
    const std::string code = code_of(path);
    for (std::sregex_iterator at(code.begin(), code.end(), fraction), end; at != end; ++at) {
      EXPECT_TRUE(arithmetic.contains((*at)[2]))
          << path << ": " << (*at)[2] << " belongs in templates/model/numbers.def";
    }
  }
}

TEST(ModelNumbersTest, EveryRowIsUsed) {
  std::string code;
  for (const fs::path& path : estimating_files()) code += code_of(path);
  for (const ModelNumber& row : model_number_rows()) {
    EXPECT_TRUE(std::regex_search(code, std::regex("(numbers_?|\\))\\." + std::string(row.name) + "\\b"))) << row.name;
  }
}

}  // namespace
}  // namespace mmtune
