// The program from outside: what it prints, where, and what it returns. Everything here runs without a GPU.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "templates/family/families.h"
#include "test_paths.h"
#include "tests/tuner/cli_fixture.h"

namespace mmtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct BadCall {
  const char* name;
  const char* arguments;
  int code;
  const char* token;
  const char* remedy;
};

/// One line on stderr that names the token and the remedy; nothing on stdout.
TEST_F(Cli, BadInputIsOneLineWithTokenAndRemedy) {
  const BadCall calls[] = {
      {"backwards", "--sizes 8192..256 --device model:h200", 2, "'8192..256'", "256..8192"},
      {"zero", "--sizes 0..8 --device model:h200", 2, "'0..8'", "start at 1"},
      {"open", "--sizes 256.. --device model:h200", 2, "'256..'", "both ends"},
      {"exponent", "--sizes 1e9..2e9 --device model:h200", 2, "'1e9'", "write"},
      {"word", "--sizes abc --device model:h200", 2, "'abc'", "write"},
      {"millions", "--sizes 1..10000000:1 --device model:h200", 2, "'1..10000000:1'", "larger step"},
      {"too many problems", "--sizes 1..60000:1 --layout all --device model:h200", 2, "1..60000:1", "in parts"},
      {"larger than memory", "--sizes 2147483647 --device model:h200 -q", 4, "2147483647x2147483647", "smaller sizes"},
      {"no candidate", "--sizes 64 --family wgmma --device model:h200 -q", 4, "no valid candidate among 0",
       "mmtune space wgmma --sizes 64x64x64 --precision fp32 --layout nn"},
      {"no invariant candidate", "--sizes 64 --family wgmma --invariant --device model:h200 -q", 4,
       "no valid candidate among 0", "--precision fp32 --layout nn --invariant"},
      {"no sizes", "--device model:h200", 2, "--sizes", "mmtune tune --help"},
      {"no model", "--sizes 64 --device model:nothing", 2, "nothing", "h200"},
      {"no GPU 99", "--sizes 64 --device 99", 3, "", ""},
      {"odd device", "--sizes 64 --device first", 2, "'first'", "model:NAME"},
      {"no family", "--sizes 64 --device model:h200 --family nothing", 2, "nothing", "simt"},
      {"no precision", "--sizes 64 --precision fp31", 2, "'fp31'", "bf16"},
      {"no layout", "--sizes 64 --layout xy", 2, "'xy'", "tt, all"},
      {"no strategy", "--sizes 64 --strategy luck", 2, "luck", "guided"},
      {"no effort", "--sizes 64 --effort none", 2, "none", "quick"},
      {"budget", "--sizes 64 --budget soon", 2, "'soon'", "60s"},
      {"seed", "--sizes 64 --seed x", 2, "seed", "mmtune tune --help"},
      {"negative seed", "--sizes 64 --seed -1", 2, "'-1'", "whole number"},
      {"huge seed", "--sizes 64 --seed 18446744073709551616", 2, "'18446744073709551616'", "18446744073709551615"},
      {"huge device", "--sizes 64 --device 18446744073709551617", 2, "'18446744073709551617'", "write auto"},
      {"huge value", "render simt --size 64 --device model:h200 --config BM=18446744073709551617", 2,
       "18446744073709551617", ""},
      {"no name of a database", "show --db ''", 2, "--db", "write a path"},
      {"seeds", "--sizes 64 --what-if --seeds 5..1", 2, "'5..1'", "1..5"},
      {"curve alone", "--sizes 64 --curve x", 2, "--curve", "--what-if"},
      {"space restriction", "space tiled --sizes 64 --device model:h200 --only TILE=7", 2, "TILE=7", "16"},
      {"jobs", "--sizes 64 --jobs 0", 2, "--jobs", "mmtune tune --help"},
      {"format", "show --format xml", 2, "'xml'", "csv"},
      {"option", "tune --sise 64", 2, "'--sise': did you mean '--size'? see", "mmtune tune --help"},
      {"letter", "tune -x", 2, "unknown option '-x'; see", "mmtune tune --help"},
      {"option of another verb", "show --effort quick", 2, "'--effort'", "mmtune show --help"},
      {"half an option", "tune --sizes 64 --effort", 2, "--effort NAME", "mmtune tune --help"},
      {"value of a flag", "show --set-aside=yes", 2, "--set-aside: takes no value", "mmtune show --help"},
      {"stray word", "show it", 2, "it", "mmtune show --help"},
      {"verb", "dance", 2, "'dance'", "tune"},
      {"verb with a slip", "shwo", 2, "'shwo': did you mean 'show'?", "tune"},
      {"part of a verb", "db sync", 2, "'sync'", "mmtune db --help"},
      {"half a verb", "db", 2, "", "mmtune db --help"},
      {"space family", "space nothing --sizes 64 --device model:h200", 2, "nothing", "simt"},
      {"nearly a family", "families SMIT", 2, "'SMIT'", "did you mean 'simt'?"},
      {"nearly a model", "tune --sizes 64 --device model:h20", 2, "'h20'", "did you mean 'h200'?"},
      {"nearly a parameter", "render simt --size 64 --config STAGE=2 --device model:h200", 2, "'STAGE'", "'STAGES'?"},
      {"parameter", "render simt --size 64 --config ABC=1 --device model:h200", 2, "ABC", "BM"},
      {"value", "render simt --size 64 --config BM=77 --device model:h200", 2, "77", "128"},
      {"config text", "render simt --size 64 --config BM --device model:h200", 2, "BM", ""},
      {"render many", "render simt --size 64..128 --device model:h200", 2, "64..128", "one"},
      {"record in no folder", "run --record /nowhere/x.csv -- true", 1, "--record=/nowhere/x.csv", "name another"},
      {"no program", "run -- /nowhere/program", 2, "'/nowhere/program'", "check its path"},
      {"study in no folder", "study s3 --device model:h200 --output /nowhere/s.csv", 1, "'/nowhere/s.csv'", "folder"},
      {"prune nothing", "db prune", 2, "db prune", "--failed"},
      {"prune both", "db prune --failed --yes --dry-run", 2, "--dry-run", "mmtune db prune --help"},
      {"no database", "show --db /nowhere/x.db", 5, "/nowhere/x.db", ""},
  };
  for (const auto& call : calls) {
    const auto result = mmtune(call.arguments);
    EXPECT_EQ(result.code, call.code) << call.name << ": " << result.err;
    EXPECT_EQ(result.out, "") << call.name;
    EXPECT_THAT(result.err, AllOf(StartsWith("mmtune: "), HasSubstr(call.token), HasSubstr(call.remedy))) << call.name;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << call.name << ": " << result.err;
  }
}

TEST_F(Cli, HelpAndVersionGoToStdout) {
  const auto help = mmtune("--help");
  EXPECT_EQ(help.code, 0);
  for (const auto* verb : {"tune", "show", "space", "render", "devices", "doctor", "db"}) {
    EXPECT_THAT(help.out, HasSubstr(verb));
  }
  EXPECT_EQ(mmtune("").out, help.out) << "the program alone";
  EXPECT_EQ(mmtune("").code, 0);
  EXPECT_THAT(mmtune("tune --help").out, AllOf(HasSubstr("--sizes"), HasSubstr("\nExamples:\n  mmtune tune ")));
  EXPECT_EQ(mmtune("--device model:h200 -h").out, mmtune("tune --help").out);
  EXPECT_THAT(mmtune("--version").out, StartsWith("mmtune "));
}

TEST_F(Cli, DryRunEchoesSizesAndStops) {
  for (const auto* verb : {"", "tune "}) {
    const auto result =
        mmtune(fmt::format("{}--device model:h200 --sizes 256..1024,3x5x7 --dry-run --format csv", verb));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("256x256x256 512x512x512 1024x1024x1024 3x5x7"), HasSubstr("predicted")));
    EXPECT_THAT(result.out, StartsWith("precision,layout,m,n,k,configurations,source\nfp32,nn,256,256,256,"));
    EXPECT_FALSE(std::filesystem::exists(path("default.db")));
  }
}

TEST_F(Cli, NamesTheVariableOfAMissingTemporaryDirectory) {
  const auto result = shell(fmt::format("TMPDIR=/nowhere '{}' run -- true", MMTUNE_BINARY));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("mmtune: no temporary directory"), HasSubstr("; set TMPDIR")));
}

TEST_F(Cli, DryRunEchoesTheSizesOfCallsOfAnyPrecision) {
  std::ofstream(path("calls.csv")) << "precision,layout,m,n,k,count\nbf16,nt,64,32,16,9\nfp32,nn,8,8,8,1\n"
                                      "fp32,nn,64,32,16,1\n";
  const auto result = mmtune(fmt::format("--device model:h200 --sizes @{} --dry-run", path("calls.csv")));
  EXPECT_THAT(result.err, AllOf(HasSubstr("2 sizes: 64x32x16 8x8x8\n"), HasSubstr("3 problems")));
}

TEST_F(Cli, ShowWithoutResultsSaysWhatToRun) {
  const auto result = mmtune("show --format csv");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out,
              StartsWith("precision,layout,m,n,k,family,config,source,median_us,tflops,peak_share,registers,smem_bytes,"
                         "occupancy,error_share,gpu,driver,nvrtc,commit,sm_clock_mhz,throttle,co_tenants,disturbed,"
                         "deterministic,state,reason,q1_us,"));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  EXPECT_THAT(result.err, HasSubstr("no results; run mmtune tune --sizes 256..8192"));
}

TEST_F(Cli, SpaceAccountsForEveryConfiguration) {
  const auto result = mmtune("space simt --sizes 1024,7 --device model:h200 --format json");
  ASSERT_EQ(result.code, 0) << result.err;
  std::map<std::int64_t, std::int64_t> balance;
  for (const auto& row : nlohmann::json::parse(result.out)) {
    const std::int64_t configurations = row.at("configurations");
    EXPECT_EQ(row.at("kind") == "total" || row.at("kind") == "searched", row.at("rule").get<std::string>().empty());
    balance[row.at("m")] += row.at("kind") == "total" ? configurations : -configurations;
  }
  EXPECT_EQ(balance, (std::map<std::int64_t, std::int64_t>{{7, 0}, {1024, 0}}));
}

TEST_F(Cli, FamiliesListsWhatCanBeSetOfOne) {
  const auto parameters = family_named("naive").params().size();
  const auto all = mmtune("families --format csv");
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(StartsWith("family,parameters,configurations,summary\n"),
                             HasSubstr(fmt::format("\nnaive,{},", parameters))));
  const auto naive = mmtune("families naive --format json");
  ASSERT_EQ(naive.code, 0) << naive.err;
  const auto rows = nlohmann::json::parse(naive.out);
  EXPECT_EQ(rows.at(0), (nlohmann::json{{"kind", "parameter"},
                                        {"name", "MAPPING"},
                                        {"values", "0 linear, 1 uncoalesced, 2 coalesced, 3 block_coarse"},
                                        {"default", "2 coalesced"},
                                        {"meaning", "which elements of C a block's threads have"}}));
  ASSERT_GT(rows.size(), parameters);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows.at(i).at("kind"), i < parameters ? "parameter" : "must hold") << rows.at(i);
  }
  EXPECT_THAT(mmtune("families simt --format csv").out, HasSubstr("\nworth trying,,,,"));
}

TEST_F(Cli, RenderPrintsTheSource) {
  const auto result = mmtune("render simt --size 1024 --device model:h200");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("BM = "), HasSubstr("#line 1 \"templates/families/simt/kernel.cu\"")));
}

TEST_F(Cli, RenderPrintsTheLaunch) {
  const auto result = mmtune("render tiled --size 100x200x300 --config TILE=32 --device model:h200 --launch");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto launch = nlohmann::json::parse(result.out);
  EXPECT_EQ(launch["target"], "sm_90a");
  EXPECT_EQ(launch["steps"][0]["grid"], nlohmann::json({7 * 4, 1, 1}));
  EXPECT_EQ(launch["steps"][0]["block"], nlohmann::json({32, 32, 1}));
}

TEST_F(Cli, DevicesListsModels) {
  const auto result = mmtune("devices --format csv");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nmodel:h200,"));
}

TEST_F(Cli, DoctorNamesEveryPart) {
  const auto result = mmtune("doctor --format csv");
  EXPECT_TRUE(result.code == 0 || result.code == 3) << result.code;
  for (const auto* part : {"mmtune", "driver", "GPU", "NVRTC", "database"}) EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_EQ(result.code == 0, result.out.find("\nNVRTC,found") != std::string::npos) << result.out;
}

TEST_F(Cli, DoctorSaysWhereNoDatabaseCanBeCreated) {
  std::ofstream(path("file")) << "no folder";
  const auto result = mmtune(fmt::format("doctor --format csv --db '{}'", path("file/new/mmtune.db")));
  EXPECT_EQ(result.code, result.out.find("\nNVRTC,found") == std::string::npos ? 3 : 5);
  EXPECT_THAT(result.out, AllOf(HasSubstr("\ndatabase,unusable,"), HasSubstr("/file: Not a directory; ")));
}

TEST_F(Cli, ForeignFileIsRefusedAndKept) {
  std::ofstream(path("notes.db")) << "these are my notes, not a database; they are longer than a header is\n";
  const auto before = content(path("notes.db"));
  for (const auto* verb : {"show", "db check", "db prune --failed --yes"}) {
    const auto result = mmtune(fmt::format("{} --db '{}'", verb, path("notes.db")));
    EXPECT_EQ(result.code, 5) << verb << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("notes.db"));
  }
  EXPECT_EQ(content(path("notes.db")), before);
}

TEST_F(Cli, LostOutputIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const auto command = fmt::format("'{}' devices -q >/dev/full 2>/dev/null", MMTUNE_BINARY);
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
}

/// The paths of a database that cannot even be looked at, by the shell that runs the program.
constexpr const char* kUnreachable[] = {
    "ln -s loop \"$XDG_DATA_HOME/mmtune\"",
    "XDG_DATA_HOME=$XDG_DATA_HOME/$(printf '%0300d' 0)",
};

TEST_F(Cli, DatabaseThatCannotBeReachedIsADatabaseError) {
  for (const auto* how : kUnreachable) {
    std::filesystem::remove_all(path("home"));
    std::filesystem::create_directory(path("home"));
    std::filesystem::create_symlink("mmtune", path("home/loop"));
    const auto run = [&](const std::string& arguments) {
      return shell(fmt::format("export XDG_DATA_HOME='{}'; {}; unset MMTUNE_DB; '{}' {}", path("home"), how,
                               MMTUNE_BINARY, arguments));
    };
    const auto show = run("show");
    EXPECT_EQ(show.code, 5) << how << show.err;
    EXPECT_THAT(show.err, AllOf(HasSubstr("database"), HasSubstr("check the path"))) << how;
    const auto doctor = run("doctor --format csv");
    EXPECT_EQ(doctor.code, doctor.out.find("\nNVRTC,found") == std::string::npos ? 3 : 5) << how << doctor.err;
    EXPECT_THAT(doctor.out, AllOf(HasSubstr("\ndatabase,unusable"), HasSubstr("\nNVRTC,"))) << how;
  }
}

TEST_F(Cli, SizesMayComeThroughAPipe) {
  const auto result = shell(fmt::format(
      "printf '64\\n96\\n' | '{}' --device model:h200 --sizes @/dev/stdin --dry-run --format csv", MMTUNE_BINARY));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nfp32,nn,64,64,64,"), HasSubstr("\nfp32,nn,96,96,96,")));
}

TEST_F(Cli, CurveOverwritesNoFile) {
  std::ofstream(path("curve.csv")) << "precious";
  const auto run = [this](const std::string& curve, const std::string& more) {
    return mmtune(fmt::format("--device model:h200 --sizes 64 --what-if --curve '{}' {}", curve, more));
  };
  EXPECT_EQ(run(path("curve.csv"), "").code, 2);
  EXPECT_EQ(content(path("curve.csv")), "precious");
  EXPECT_THAT(run(path("curve.csv"), "").err, HasSubstr("--force"));
}

TEST_F(Cli, SizesMayBeGivenOneByOneUnderBothNames) {
  const auto planned = [this](const std::string& sizes) {
    const auto result = mmtune(fmt::format("tune --device model:h200 {} --dry-run --format csv", sizes));
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  EXPECT_EQ(planned("--sizes 64 --size 96 --sizes 128..256"), planned("--sizes 64,96,128..256"));
  EXPECT_EQ(mmtune("render tiled --device model:h200 --sizes 64").out,
            mmtune("render tiled --device model:h200 --size 64").out);
}

TEST_F(Cli, DryRunCountsWhatOnlyLeaves) {
  const auto count = [this](const std::string& more) {
    const auto result =
        mmtune(fmt::format("--device model:h200 --sizes 64 --family tiled --dry-run --format json {}", more));
    return nlohmann::json::parse(result.out).at(0).at("configurations").get<std::int64_t>();
  };
  EXPECT_GT(count(""), count("--only TILE=8,16"));
  EXPECT_EQ(count("--only TILE=8,16"), 2 * count("--only TILE=8"));
}

TEST_F(Cli, OnlyNamesParametersAndValuesThatExist) {
  const auto unknown = mmtune("tune --device model:h200 --sizes 64 --family tiled --only NOPE=3");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("NOPE"), std::string::npos) << unknown.err;
  const auto value = mmtune("tune --device model:h200 --sizes 64 --family tiled --only TILE=7");
  EXPECT_EQ(value.code, 2);
  EXPECT_NE(value.err.find("TILE=7"), std::string::npos) << value.err;
  EXPECT_EQ(mmtune("tune --device model:h200 --sizes 64 --only =8").code, 2);
  const auto dry = mmtune("tune --device model:h200 --sizes 64 --family tiled --only TILE=8 --dry-run");
  EXPECT_EQ(dry.code, 0) << dry.err;
}

}  // namespace
}  // namespace mmtune
