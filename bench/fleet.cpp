// What a fleet costs beside tuning: shares of many problems, and the merge of as many databases by the program.
//
//   bench_fleet MMTUNE FOLDER [PROBLEMS SHARDS TRIALS PROGRAMS IMAGE_BYTES]
//
// Distributes problems over shards; makes a database for each in the folder, unless it is there from a run with the
// same numbers, with so many trials a problem, whose machine code is one of so many programs; lets `mmtune db merge`
// put them together. Prints a row of
// problems,shards,trials,programs,input_mb,share_least_s,share_most_s,merge_s,peak_mb,merged_mb. The databases stay.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "db/machine_code.h"
#include "db/store.h"
#include "templates/gpu/gpu_catalog.h"
#include "tuner/tune/shares.h"

extern char** environ;

namespace mmtune {
namespace {

namespace fs = std::filesystem;

struct Setup {
  std::string program;
  fs::path folder;
  std::size_t problems = 10'000;
  int shards = 1000;
  int trials = 24;  ///< a problem, as --effort quick
  int programs = 2000;
  std::size_t image_bytes = 42'000;  ///< the mean of 48 programs of all families for sizes of 512 and 4096
};

/// Sizes as applications have them: extents drawn by their logarithm.
SessionOptions drawn_session(std::size_t count) {
  SessionOptions session;
  session.devices = {{catalog_gpu("h200"), 0}};
  std::mt19937 random(1);
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> sizes;
  const auto extent = [&] {
    return 8 * (std::int64_t{1} << random() % 10) + 8 * static_cast<std::int64_t>(random() % 32);
  };
  while (sizes.size() < count) {
    const std::int64_t m = extent(), n = extent(), k = extent();
    if (!sizes.emplace(m, n, k).second) continue;
    session.problems.push_back(packed_problem(Precision::fp32, Layout::nn, m, n, k));
  }
  return session;
}

/// Another one for each number; no GPU takes it.
std::string image_of(int number, std::size_t bytes) {
  std::string image = fmt::format("\x7f\x45LF{:08}", number);
  image.resize(bytes, static_cast<char>(number));
  return image;
}

/// Machine code whose hash is known without making it again.
class Programs {
 public:
  explicit Programs(const Setup& setup) : setup_(setup) {
    for (int i = 0; i < setup.programs; ++i) hashes_.push_back(hash_machine_code(image_of(i, setup.image_bytes)));
  }

  Binary binary(int number) const {
    Binary binary;
    binary.hash = hashes_.at(static_cast<std::size_t>(number));
    binary.target = "sm_90a";
    binary.cubin = image_of(number, setup_.image_bytes);
    binary.registers = 128;
    binary.compile_ms = 500 + number % 100;
    binary.nvrtc = "13.0";
    return binary;
  }

  Trial trial(const Problem& problem, int number, int node) const {
    Trial trial;
    trial.key.device = key_of(catalog_gpu("h200"));
    trial.key.problem = problem;
    trial.key.family = "simt";
    trial.key.config = fmt::format(
        "BM={} BN=128 BK=16 TM=8 TN=8 STAGES=2 LOAD=1 UNROLL=8 SPLIT=1 STREAM=0 REDUCE=0 GROUP=8 ORDER=0", 8 + number);
    trial.key.source_hash = fmt::format("{:032x}", number);
    trial.binary_hash = hashes_.at(static_cast<std::size_t>(number));
    const double us = 10 + 0.001 * number;
    trial.timing = {us, us - 0.05, us + 0.05, us - 0.1, 31, 7, 1980, 0, 0, {"graph", 2619, 0, 1980, 700}};
    trial.error_share = 0.25;
    trial.occupancy = 0.5;
    trial.smem_bytes = 49152;
    trial.environment = {"580.1", "13.0", "abcdef1", fmt::format("GPU-{:036}", node)};
    trial.created = fmt::format("2031-04-05T06:{:02}:{:02}Z", node / 60 % 60, node % 60);
    return trial;
  }

 private:
  Setup setup_;
  std::vector<std::string> hashes_;
};

void make_database(const Setup& setup, const Programs& programs, const fs::path& path,
                   const std::vector<Problem>& problems, int node) {
  Store store = Store::open(path, OpenMode::read_write);
  std::mt19937 random(static_cast<unsigned>(node));
  std::vector<Trial> trials;
  std::set<int> used;
  std::vector<TrialKey> winners;
  for (const Problem& problem : problems) {
    std::set<int> numbers;
    while (numbers.size() < static_cast<std::size_t>(setup.trials)) {
      numbers.insert(static_cast<int>(random() % static_cast<unsigned>(setup.programs)));
    }
    for (const int number : numbers) trials.push_back(programs.trial(problem, number, node));
    winners.push_back(programs.trial(problem, *numbers.begin(), node).key);
    used.insert(numbers.begin(), numbers.end());
  }
  std::vector<Binary> binaries;
  for (const int number : used) binaries.push_back(programs.binary(number));
  store.put(trials, binaries);
  for (const TrialKey& winner : winners) store.put_winner(winner, "search", setup.trials);
}

struct Cost {
  double seconds = 0;
  double peak_mb = 0;
};

Cost merge(const Setup& setup, const std::vector<std::string>& files, const std::string& target) {
  std::vector<std::string> words{setup.program, "db", "merge", "--db", target};
  words.insert(words.end(), files.begin(), files.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  pid_t child = 0;
  if (posix_spawn(&child, setup.program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error(setup.program + ": cannot be started");
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child || status != 0) throw std::runtime_error("the merge failed");
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return {time.count(), static_cast<double>(usage.ru_maxrss) / 1024};
}

void measure(const Setup& setup) {
  const SessionOptions session = drawn_session(setup.problems);
  std::vector<ExpectedWork> work;
  for (const Problem& problem : session.problems) {
    work.push_back({problem, expected_tuning_ms(session, session.devices.front(), problem)});
  }
  const std::vector<int> numbers = distribute(work, setup.shards);
  std::vector<std::vector<Problem>> problems(static_cast<std::size_t>(setup.shards));
  std::vector<std::int64_t> loads_ms(problems.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    const auto share = static_cast<std::size_t>(numbers[i] - 1);
    problems[share].push_back(work[i].problem);
    loads_ms[share] += work[i].expected_ms;
  }
  const auto [least, most] = std::minmax_element(loads_ms.begin(), loads_ms.end());

  fs::create_directories(setup.folder);
  fs::permissions(setup.folder, fs::perms::owner_all);
  const Programs programs(setup);
  std::vector<std::string> files;
  double input_mb = 0;
  for (int node = 1; node <= setup.shards; ++node) {
    const fs::path path = setup.folder / fmt::format("shard-{}.db", node);
    const fs::path partial = path.string() + ".part";
    fs::remove(partial);
    if (!fs::exists(path)) {
      make_database(setup, programs, partial, problems[static_cast<std::size_t>(node - 1)], node);
      fs::rename(partial, path);
    }
    input_mb += static_cast<double>(fs::file_size(path)) / 1e6;
    files.push_back(path);
  }
  const fs::path target = setup.folder / "fleet.db";
  fs::remove(target);
  const Cost cost = merge(setup, files, target);
  fmt::print("{},{},{},{},{:.0f},{:.3f},{:.3f},{:.1f},{:.0f},{:.0f}\n", setup.problems, setup.shards, setup.trials,
             setup.programs, input_mb, 1e-3 * static_cast<double>(*least), 1e-3 * static_cast<double>(*most),
             cost.seconds, cost.peak_mb, static_cast<double>(fs::file_size(target)) / 1e6);
}

}  // namespace
}  // namespace mmtune

int main(int count, char** words) try {
  if (count != 3 && count != 8)
    throw std::runtime_error("say MMTUNE FOLDER [PROBLEMS SHARDS TRIALS PROGRAMS IMAGE_BYTES]");
  mmtune::Setup setup{words[1], words[2]};
  if (count == 8) {
    setup.problems = std::stoul(words[3]);
    setup.shards = std::stoi(words[4]);
    setup.trials = std::stoi(words[5]);
    setup.programs = std::stoi(words[6]);
    setup.image_bytes = std::stoul(words[7]);
  }
  mmtune::measure(setup);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_fleet: {}\n", error.what());
  return 1;
}
