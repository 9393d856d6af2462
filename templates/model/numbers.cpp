#include "templates/model/numbers.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace mmtune {

namespace {

constexpr NumberSource kIssue{NumberOrigin::specification, "CUDA C++ Programming Guide, Arithmetic Instructions"};
constexpr NumberSource kKepler{NumberOrigin::specification,
                               "NVIDIA's white paper on GK110: dual issue; since Maxwell one instruction a clock"};
constexpr NumberSource kBanks{NumberOrigin::specification,
                              "CUDA C++ Programming Guide, Shared Memory: 32 banks of 4 bytes a clock"};
constexpr NumberSource kGpc{NumberOrigin::specification, "NVIDIA's white paper on Hopper: up to 18 SMs in a GPC"};
constexpr NumberSource kPapers{
    NumberOrigin::paper,
    "Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018, and "
    "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via "
    "Microbenchmarking, 2024, rounded to what holds for both"};
constexpr NumberSource kLuo{NumberOrigin::paper,
                            "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via "
                            "Microbenchmarking, 2024"};
constexpr NumberSource kLaunches{NumberOrigin::measured, "on an H200: docs/lab/2026-11-24-model.md"};
constexpr NumberSource kPrefetch{NumberOrigin::measured, "on an H100: docs/lab/2026-11-26-prefetch.md"};
constexpr NumberSource kSimtTimes{
    NumberOrigin::fitted,
    "by hand, near times of simt on an H200 that were not kept; held against "
    "bench/results/nvidia-h200/cover_trials.csv.xz: docs/lab/2026-11-24-model.md#numbers-that-were-set-by-hand"};
constexpr NumberSource kCoverTimes{NumberOrigin::fitted,
                                   "12349 times of simt on an H200: bench/results/nvidia-h200/cover_trials.csv.xz"};
constexpr NumberSource kTensorTimes{NumberOrigin::fitted,
                                    "9442 times on an H200: bench/results/nvidia-h200/tensor_trials.csv.xz"};
constexpr NumberSource kDenseBf16{NumberOrigin::fitted,
                                  "16986 times of bf16 nt on an H100: "
                                  "bench/results/nvidia-h100/{dense,wide}_bf16_nt_trials.csv.xz"};
constexpr NumberSource kMinuteTimes{NumberOrigin::fitted,
                                    "12656 times of 16 and 8 bits on an H100: "
                                    "bench/results/nvidia-h100/{minute_*,worst}_trials.csv.xz"};
constexpr NumberSource kTrials{NumberOrigin::fitted,
                               "35423 times of 16 and 8 bits on an H100, of bench/results/nvidia-h100/*_trials.csv.xz: "
                               "docs/lab/2026-11-26-cover.md#where-the-models-errors-are-large"};
constexpr NumberSource kCovers{NumberOrigin::fitted,
                               "53343 times of 16 bits and 1402 of 8 bits on an H100, 3268 on an H200: "
                               "docs/lab/2026-11-24-model.md#fitted-anew-to-covers"};
constexpr NumberSource kFiveMinutes{NumberOrigin::fitted,
                                    "440 times of 16 and 8 bits on H200s: docs/lab/2026-11-28-untuned.md#clusters-of-"
                                    "three-and-six"};
constexpr NumberSource kRaces{NumberOrigin::fitted,
                              "4465 raced times and 991 of audits, of 16 and 8 bits on H200s: "
                              "docs/lab/2026-11-28-power.md"};
constexpr NumberSource kTails{NumberOrigin::fitted,
                              "29248 times of 16 and 8 bits on H200s: "
                              "docs/lab/2026-11-29-tails.md#what-the-model-expects-of-them"};
constexpr NumberSource kFetches{NumberOrigin::fitted,
                                "11200 times of 16 and 8 bits on an H200: "
                                "docs/lab/2026-11-24-model.md#fitted-to-fetches-of-128-bytes"};
constexpr NumberSource kServing{NumberOrigin::fitted,
                                "6294 times of wgmma on an H100 and 2193 on an H200, those of "
                                "bench/results/nvidia-h100/*_trials.csv.xz and "
                                "bench/results/nvidia-h200/tensor_trials.csv.xz among them"};
constexpr NumberSource kCopiesTimes{NumberOrigin::fitted,
                                    "66 times of mma_sync on an H100 and 2169 on an H200, "
                                    "bench/results/nvidia-h100/serving_trials.csv.xz and "
                                    "bench/results/nvidia-h200/tensor_trials.csv.xz"};
constexpr NumberSource kShortSums{NumberOrigin::fitted,
                                  "by hand, near 86 times of mma_sync in bf16 on an H200, at 300,000 results or more: "
                                  "bench/results/nvidia-h200/cover_five_minutes_bf16_nt_trials.csv.xz"};
constexpr NumberSource kPackTimes{NumberOrigin::fitted,
                                  "by hand, near times on an H200: bench/results/nvidia-h200/pack_trials.csv"};
constexpr NumberSource kCounted{NumberOrigin::counted, "instructions of the kernel's text"};
constexpr NumberSource kPtxas{NumberOrigin::compiled, "near what ptxas reports for sm_90"};

ModelNumbers numbers_of(int compute_capability) {
  ModelNumbers numbers;
  for (const ModelNumber& row : model_number_rows()) numbers.*row.member = row.value_for(compute_capability).value;
  return numbers;
}

/// The architectures, ascending by the compute capability that they hold from.
std::vector<std::pair<int, ModelNumbers>> all_architectures() {
  std::set<int> begins{0};
  for (const ModelNumber& row : model_number_rows()) {
    for (const NumberValue& each : row.values) begins.insert(each.from);
  }
  std::vector<std::pair<int, ModelNumbers>> all;
  for (const int begin : begins) all.emplace_back(begin, numbers_of(begin));
  return all;
}

}  // namespace

std::string_view to_string(NumberOrigin origin) {
  constexpr std::array<std::string_view, 6> kNames{"specification", "paper",   "measured",
                                                   "fitted",        "counted", "compiled"};
  return kNames[static_cast<std::size_t>(origin)];
}

const NumberValue& ModelNumber::value_for(int compute_capability) const {
  const auto newer = std::find_if(values.begin(), values.end(),
                                  [&](const NumberValue& each) { return each.from > compute_capability; });
  return newer == values.begin() ? values.front() : *(newer - 1);
}

const std::vector<ModelNumber>& model_number_rows() {
  static const std::vector<ModelNumber> rows = {
#define MMTUNE_NUMBER(name, unit, source, meaning, ...) \
  {#name, unit, source, meaning, &ModelNumbers::name, {__VA_ARGS__}},
#include "templates/model/numbers.def"
#undef MMTUNE_NUMBER
  };
  return rows;
}

const ModelNumbers& model_numbers(const DeviceSpec& device) {
  if (device.numbers != nullptr) return *device.numbers;
  static const std::vector<std::pair<int, ModelNumbers>> all = all_architectures();
  const auto newer = std::find_if(all.begin(), all.end(),
                                  [cc = compute_capability(device)](const auto& each) { return each.first > cc; });
  return newer == all.begin() ? all.front().second : (newer - 1)->second;
}

}  // namespace mmtune
