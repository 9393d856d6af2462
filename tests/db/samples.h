// Rows to be stored.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "db/machine_code.h"
#include "db/trial.h"

namespace mmtune::test {

/// Another image for each number; no GPU takes it.
inline std::string sample_code(int number) { return fmt::format("\x7f\x45LF{}code {}", '\0', number); }

/// Gives the binary this image.
inline void set_code(Binary& binary, std::string code) {
  binary.hash = hash_machine_code(code);
  binary.cubin = std::move(code);
}

inline Trial sample_trial(int number = 0) {
  Trial trial;
  trial.key.device = {"NVIDIA H200", 90, 132, 232448};
  trial.key.problem = {Precision::fp16, Layout::tn, 100, 200, 300, {16, 8, 4}};
  trial.key.family = "simt";
  trial.key.config = fmt::format("BM=128 BN={}", number + 1);
  trial.key.source_hash = "0123456789abcdef0123456789abcdef";
  trial.key.evidence = Evidence::measured;
  trial.outcome = Outcome::ok;
  trial.note = "a line\nand a log with \"quotes\" and 'more'";
  trial.binary_hash = hash_machine_code(sample_code(number));
  trial.timing = {10.5 + number, 10.25, 11.75, 10.125, 31, 7, 1980.5, kPowerCap, 3, {"graph", 2619.5, 2, 1980, 700.5}};
  trial.error_share = 0.25;
  trial.deterministic = false;
  trial.occupancy = 0.5;
  trial.smem_bytes = 49152;
  trial.environment = {"580.1", "13.0", "abcdef1", "GPU-1234"};
  trial.created = "2021-04-05T06:07:08Z";
  return trial;
}

inline Binary sample_binary(int number = 0) {
  Binary binary;
  set_code(binary, sample_code(number));
  binary.target = "sm_90a";
  binary.exact_target = false;
  binary.registers = 128;
  binary.spill_bytes = 16;
  binary.stack_bytes = 32;
  binary.static_smem_bytes = 1024;
  binary.compile_ms = 812.5;
  binary.nvrtc = "13.0";
  return binary;
}

}  // namespace mmtune::test
