#include "tests/tuner/faulty_worker.h"

#include <fcntl.h>
#include <mmtune/error.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "templates/gpu/gpu_catalog.h"
#include "tuner/workers/process.h"
#include "tuner/workers/protocol.h"
#include "tuner/workers/worker_process.h"

namespace mmtune::test {
namespace {

[[noreturn]] void hang() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

void put(std::string_view bytes) {
  [[maybe_unused]] const auto written = write(kChannelDescriptor, bytes.data(), bytes.size());
}

/// A frame as the channel's, with any body.
void put_frame(const std::string& body, std::size_t promised) {
  std::string header = "mmtw";
  for (unsigned shift = 0; shift < 32; shift += 8) header += static_cast<char>(promised >> shift & 0xff);
  put(header + body);
}

class FaultsOfTheRun {
 public:
  explicit FaultsOfTheRun(const std::string& text) {
    std::istringstream items(text);
    for (std::string item; std::getline(items, item, ';');) {
      const auto at = item.find('@');
      if (at != item.npos) faults_[item.substr(0, at)].insert(item.substr(at + 1));
    }
  }

  bool has(const std::string& fault, const std::string& candidate) const {
    const auto found = faults_.find(fault);
    return found != faults_.end() && (found->second.contains(candidate) || found->second.contains("*"));
  }

  /// All that stands behind this fault.
  std::set<std::string> all(const std::string& fault) const {
    const auto found = faults_.find(fault);
    return found == faults_.end() ? std::set<std::string>{} : found->second;
  }

  std::string file(const std::string& fault) const {
    const std::set<std::string> files = all(fault);
    return files.empty() ? "" : *files.begin();
  }

  /// Takes as many milliseconds as stand behind this fault.
  void take_time(const std::string& fault) const {
    if (!file(fault).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(file(fault))));
  }

  void log(const std::string& kind, const std::string& line) const {
    if (!file(kind).empty()) std::ofstream(file(kind), std::ios::app) << line << '\n';
  }

  bool has_logged(const std::string& kind, const std::string& line) const {
    std::ifstream log(file(kind));
    for (std::string each; std::getline(log, each);) {
      if (each == line) return true;
    }
    return false;
  }

  /// Breaks the GPU from here on, if the test wants that.
  void break_gpu() const {
    for (const char* defect : {"dead", "miscounts", "gone"}) {
      if (!file(defect).empty()) std::ofstream(file(defect)) << "broken";
    }
  }

  bool is_broken(const std::string& defect) const {
    return !file(defect).empty() && std::filesystem::exists(file(defect));
  }

  /// Does what ends a process, or makes its parent wish so.
  void commit(const std::string& prefix, const std::string& candidate) const {
    const auto is = [&](const char* fault) { return has(prefix + fault, candidate); };
    const bool ends = is("hang") || is("abort") || is("segfault") || is("exit") || is("garbage");
    if (ends) break_gpu();
    if (is("hang")) hang();
    if (is("abort")) std::abort();
    if (is("segfault")) {
      std::signal(SIGSEGV, SIG_DFL);  // a sanitizer may want this signal
      std::raise(SIGSEGV);
    }
    if (is("exit")) _exit(3);
    if (is("garbage")) put("this is not a message, whatever it may be"), hang();
    if (is("endless")) put_frame("", 0xffffffff), hang();
    if (is("deep")) put_frame(std::string(1 << 22, '\x81'), 1 << 22), hang();
  }

 private:
  std::map<std::string, std::set<std::string>> faults_;
};

class FaultyLane final : public Lane {
 public:
  FaultyLane(const FaultsOfTheRun& faults, const DeviceSpec& gpu)
      : faults_(faults), gpu_(gpu), random_(std::random_device()()) {
    faults_.log("open_log", gpu_.uuid);
    faults_.commit("open_", gpu_.uuid);
    if (faults_.is_broken("gone")) throw DeviceError("a test took the GPU away");
  }

  Evidence evidence() const override { return Evidence::measured; }
  Environment environment() override {
    const std::string driver = faults_.file("driver");
    return {driver.empty() ? "1.0" : driver, "13.0", "test", gpu_.uuid};
  }

  void begin(const Problem& problem, int samples) override {
    faults_.log("samples_log", std::to_string(samples));
    is_canary_ = problem.align.c < 16;
    if (faults_.is_broken("dead")) std::abort();
    faults_.commit("begin_", to_string(problem));
    if (problem.m > 100'000) throw OutOfMemoryError("too large to be pretended");
  }

  Verdict evaluate(const Program& program, double best_us) override {
    const std::string name = key_of(program.candidate);
    faults_.log("log", name);
    faults_.take_time("launch_ms");
    if (faults_.is_broken("dead")) std::abort();
    faults_.commit("", name);
    if (!faults_.file("meet").empty()) meet(faults_.file("meet"));
    if (!faults_.file("alone").empty()) be_alone(faults_.file("alone") + gpu_.uuid);
    if (faults_.has("sometimes", name) && !is_canary_ && random_() % 5 == 0) std::abort();
    if (faults_.has("sometimes_wrong", name) && !is_canary_ && random_() % 5 == 0) {
      return {Outcome::wrong_result, "a test's bad luck", {}, 2};
    }
    if (faults_.has("memory", name)) throw OutOfMemoryError("a test");
    if (faults_.has("lost", name)) throw DeviceLostError("a test broke the context");
    if (faults_.has("refused", name)) throw DeviceError("a test refuses the launch");
    Verdict verdict{Outcome::ok, "", timing(name), 0.5};
    if (faults_.has("wrong", name)) verdict.outcome = static_cast<Outcome>(99);
    if (faults_.has("varies", name)) verdict.deterministic = false;
    if (faults_.has("late_nan", name)) verdict.timing.median_us = std::numeric_limits<double>::quiet_NaN();
    if (faults_.has("impatient", name) && best_us > 0 && verdict.timing.median_us > best_us) {
      verdict.outcome = Outcome::too_slow;
    }
    if (is_incorrect(name)) verdict = {Outcome::wrong_result, "a test", {}, 2};
    return verdict;
  }

  RaceResult race(const std::vector<Program>& finalists) override {
    faults_.take_time("race_ms");
    RaceResult result;
    std::vector<double> times_us;
    for (const Program& each : finalists) {
      const std::string name = key_of(each.candidate);
      result.verdicts.push_back(verdict_after_race(name));
      times_us.push_back(result.verdicts.back().timing.median_us);
      faults_.log("race_log", name);
      faults_.commit("race_", name);
      if (faults_.has("race_memory", name)) throw OutOfMemoryError("a test");
      if (faults_.has("race_refused", name)) throw DeviceError("a test refuses the launch");
      if (faults_.has("sometimes", name) && random_() % 5 == 0) std::abort();
    }
    result.placings = race_without_noise(times_us);
    return result;
  }

 private:
  bool is_incorrect(const std::string& name) {
    if (!is_canary_ && faults_.has("spoils", name)) spoilt_ = true;
    const bool is_fault = !is_canary_ && faults_.has("incorrect", name);
    if (is_fault) faults_.break_gpu();
    return is_fault || spoilt_ || faults_.is_broken("miscounts");
  }

  Verdict verdict_after_race(const std::string& name) const {
    Verdict verdict;
    verdict.timing = timing(name);
    verdict.deterministic = !faults_.has("race_varies", name);
    const bool is_fault = faults_.has("race_incorrect", name) ||
                          (faults_.has("race_again_incorrect", name) && faults_.has_logged("race_log", name));
    if (is_fault) faults_.break_gpu();
    if (is_fault || faults_.is_broken("miscounts")) {
      verdict.outcome = Outcome::unstable;
      verdict.note = "a test";
    }
    return verdict;
  }

  /// One file for each GPU, and there are two.
  void meet(const std::string& file) const {
    std::ofstream(file + gpu_.uuid) << "here";
    const auto count = [&] {
      const std::filesystem::path path(file);
      const auto files = std::filesystem::directory_iterator(path.parent_path());
      return std::count_if(std::filesystem::begin(files), std::filesystem::end(files), [&](const auto& entry) {
        return entry.path().filename().string().starts_with(path.filename().string());
      });
    };
    while (count() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  static void be_alone(const std::string& file) {
    const int mine = open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (mine < 0) std::abort();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    unlink(file.c_str());
    close(mine);
  }

  static Timing timing(const std::string& candidate) {
    const double us = pretended_us(candidate);
    return {us, us, us, us, 1, 1, 0, 0, 0, {.mode = "events"}};
  }

  const FaultsOfTheRun& faults_;
  DeviceSpec gpu_;
  std::mt19937_64 random_;
  bool spoilt_ = false;
  bool is_canary_ = false;  ///< what the tuner looks at the GPU with; no problem here is so badly aligned
};

Compilation compile(const FaultsOfTheRun& faults, const Source& source) {
  // "// tiled TILE=16 UNROLL=16 for fp32 nn"
  const std::string name = source.text.substr(3, source.text.find(" for ") - 3);
  faults.log("compile_log", name);
  faults.take_time("compile_ms");
  faults.commit("compile_", name);
  std::unique_ptr<volatile char[]> memory;
  if (faults.has("compile_memory", name)) {
    memory.reset(new char[std::size_t{2} << 30]);
    memory[0] = 1;
  }
  Compilation compilation;
  compilation.compile_ms = 1;
  if (faults.has("compile_refused", name)) {
    compilation.log = "a test refuses the source";
  } else {
    compilation.cubin = "pretended " + (faults.has("compile_alike", name) ? "alike" : source.hash);
    compilation.code_hash = hash_machine_code(compilation.cubin);
    compilation.kernels = {{"gemm", 32, 0, 0, 0}};
  }
  return compilation;
}

std::vector<DeviceSpec> pretended_gpus(const FaultsOfTheRun& faults) {
  std::vector<DeviceSpec> gpus;
  for (const std::string& uuid : faults.all("uuid")) gpus.emplace_back(pretended_gpu()).uuid = uuid;
  return gpus.empty() ? std::vector{pretended_gpu()} : gpus;
}

}  // namespace

WorkerParts faulty_parts(const std::string& faults) {
  static const FaultsOfTheRun known(faults);
  WorkerParts parts;
  parts.gpus = [] {
    known.commit("gpus_", "");
    return pretended_gpus(known);
  };
  parts.compiler = [] {
    known.commit("load_", "");
    return CompilerFacts{"13.0", {75, 80, 86, 89, 90}, hash_headers(TemplateFiles::embedded())};
  };
  parts.compile = [](const Source& source, const CompileTarget&) { return compile(known, source); };
  parts.make_lane = [](const DeviceChoice& device, const CompileTarget&) {
    return std::make_unique<FaultyLane>(known, device.spec);
  };
  return parts;
}

DeviceSpec pretended_gpu() {
  DeviceSpec gpu = catalog_gpu("h200");
  gpu.uuid = "GPU-00000000-0000-0000-0000-000000000000";
  gpu.installed = true;
  return gpu;
}

double pretended_us(const std::string& candidate) {
  return 10 + static_cast<double>(std::hash<std::string>{}(candidate) % 1000) / 100;
}

}  // namespace mmtune::test
