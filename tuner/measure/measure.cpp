#include "tuner/measure/measure.h"

#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "templates/base/round_up.h"
#include "templates/model/floors.h"
#include "templates/problem/dtype.h"
#include "tuner/race/quantile.h"

namespace mmtune {

namespace {

constexpr std::int64_t kMostSets = 256;
// What surrounds the calls of a sample takes 3 to 5 us on an H100 (docs/lab/2026-11-26-samples.md).
constexpr double kSample_us = 500;
constexpr double kLongCall_us = 1000;  // the time of a call in which the host's launch latency is below one percent
constexpr auto kWarmUp = std::chrono::milliseconds(400);

constexpr std::int64_t kAlignment = 256;  // bytes: each operand begins as memory of its own would

/// The bytes of a problem's operands, each at an address of its own.
struct SetBytes {
  explicit SetBytes(const Problem& problem) {
    const PrecisionTraits& types = traits(problem.precision);
    const auto elements = [](const StoredShape& shape) { return shape.rows * shape.columns; };
    a = round_up(elements(stored_a(problem)) * types.a.bytes, kAlignment);
    b = round_up(elements(stored_b(problem)) * types.b.bytes, kAlignment);
    c = round_up(elements(stored_c(problem)) * types.c.bytes, kAlignment);
  }
  std::int64_t all() const { return a + b + c; }

  std::int64_t a, b, c;
};

/// The calls of such a time that a sample needs, or as many as there may be sets.
int calls_of_sample(double call_us) {
  return static_cast<int>(std::min<double>(kMostSets, std::ceil(kSample_us / call_us)));
}

}  // namespace

int cold_set_count(const Problem& problem, const DeviceSpec& device) {
  const std::int64_t cold = 2 * device.l2_bytes / SetBytes(problem).all() + 1;
  return static_cast<int>(std::clamp<std::int64_t>(cold, 2, kMostSets));
}

int operand_set_count(const Problem& problem, const DeviceSpec& device) {
  const double call_us = floors(problem, peak_tflops(device, problem.precision), device).least_us();
  const std::int64_t fitting = device.memory_bytes / kShareOfMemory / SetBytes(problem).all();
  const auto timed = static_cast<int>(std::min<std::int64_t>(calls_of_sample(call_us), fitting));
  return std::max(cold_set_count(problem, device), timed);
}

CUdeviceptr OperandMemory::take(const CheckKernels& kernels, Precision precision, Role role, std::int64_t bytes,
                                CUstream stream) {
  if (precision != precision_) buffers_ = {};
  precision_ = precision;
  DeviceBuffer& buffer = buffers_[static_cast<std::size_t>(role)];
  if (static_cast<std::int64_t>(buffer.bytes()) < bytes) {
    buffer = {};
    buffer = DeviceBuffer(static_cast<std::size_t>(bytes));
    const PrecisionTraits& types = traits(precision);
    const FormatTraits& format = role == Role::a ? types.a : role == Role::b ? types.b : types.c;
    // Seeds far apart, also from those of set 0: fill() numbers its values from the seed on.
    const std::uint64_t seed = std::uint64_t{7 + static_cast<unsigned>(role)} << 40;
    kernels.fill(role, buffer.address(), bytes / format.bytes, seed, Fill::uniform, stream);
  }
  return buffer.address();
}

std::int64_t OperandMemory::bytes() const {
  std::size_t sum = 0;
  for (const DeviceBuffer& buffer : buffers_) sum += buffer.bytes();
  return static_cast<std::int64_t>(sum);
}

OperandSets::OperandSets(const CheckKernels& kernels, const Problem& problem, const Operands& first,
                         const DeviceSpec& device, OperandMemory& memory, CUstream stream)
    : cold_count_(cold_set_count(problem, device)) {
  const SetBytes bytes(problem);
  const int count = operand_set_count(problem, device);
  const auto take = [&](Role role, std::int64_t each) {
    return memory.take(kernels, problem.precision, role, each * (count - 1), stream);
  };
  const CUdeviceptr a = take(Role::a, bytes.a), b = take(Role::b, bytes.b), c = take(Role::c, bytes.c);
  sets_.push_back(first);
  for (int i = 1; i < count; ++i) {
    const auto before = static_cast<CUdeviceptr>(i - 1);
    Operands operands = first;
    operands.a = a + before * static_cast<CUdeviceptr>(bytes.a);
    operands.b = b + before * static_cast<CUdeviceptr>(bytes.b);
    operands.c = c + before * static_cast<CUdeviceptr>(bytes.c);
    sets_.push_back(operands);
  }
}

void warm_up(const CheckKernels& kernels, const Problem& problem, const OperandSets& sets, CUstream stream) {
  const std::int64_t count = std::min<std::int64_t>(problem.m * problem.n, 1 << 22);
  const auto end = std::chrono::steady_clock::now() + kWarmUp;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 64; ++i) kernels.fill(Role::c, sets.set(1).c, count, 0, Fill::uniform, stream);
    MMTUNE_CUDA(cuStreamSynchronize(stream));
  }
}

Stopwatch::Stopwatch(Call call, const OperandSets& sets, double estimate_us, CUstream stream)
    : call_(std::move(call)), sets_(sets), stream_(stream), start_(make_event()), stop_(make_event()) {
  if (estimate_us > kLongCall_us) return;
  calls_ = estimate_us > 0 ? std::clamp(calls_of_sample(estimate_us), sets.cold_count(), sets.count()) : sets.count();
  MMTUNE_CUDA(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CUgraph captured = nullptr;
  try {
    for (int i = 0; i < calls_; ++i) call_(sets_.set(i), stream_);
  } catch (...) {
    // The stream must work again; what the call has to say matters more than what the broken capture does.
    check_in_destructor(cuda().cuStreamEndCapture(stream_, &captured), "cuStreamEndCapture(stream_, &captured)");
    const Graph broken(captured);
    throw;
  }
  MMTUNE_CUDA(cuStreamEndCapture(stream_, &captured));
  const Graph graph(captured);
  CUgraphExec executable = nullptr;
  MMTUNE_CUDA(cuGraphInstantiateWithFlags(&executable, graph.get(), 0));
  graph_ = GraphExec(executable);
  MMTUNE_CUDA(cuGraphUpload(executable, stream_));
}

double Stopwatch::sample_us() {
  start();
  return finish_us();
}

void Stopwatch::start() {
  MMTUNE_CUDA(cuEventRecord(start_.get(), stream_));
  for (int i = 0; i < repeats_; ++i) {
    if (graph_) {
      MMTUNE_CUDA(cuGraphLaunch(graph_.get(), stream_));
    } else {
      call_(sets_.set(next_set_), stream_);
      next_set_ = (next_set_ + 1) % sets_.count();
    }
  }
  MMTUNE_CUDA(cuEventRecord(stop_.get(), stream_));
}

void Stopwatch::lengthen(double sample_us, double call_us) {
  repeats_ = std::max(repeats_, static_cast<int>(std::ceil(sample_us / (call_us * calls_))));
}

double Stopwatch::finish_us() {
  MMTUNE_CUDA(cuEventSynchronize(stop_.get()));
  float ms = 0;
  MMTUNE_CUDA(cuEventElapsedTime(&ms, start_.get(), stop_.get()));
  return 1000.0 * ms / calls_per_sample();
}

Timing summarise(std::vector<double> samples_us) {
  if (samples_us.empty()) throw Error("summarise: no samples, a fault of mmtune");
  std::sort(samples_us.begin(), samples_us.end());
  Timing timing;
  timing.median_us = quantile(samples_us, 0.5);
  timing.q1_us = quantile(samples_us, 0.25);
  timing.q3_us = quantile(samples_us, 0.75);
  timing.min_us = samples_us.front();
  timing.samples = static_cast<int>(samples_us.size());
  return timing;
}

Timing summarise(const Stopwatch& watch, std::vector<double> samples_us, const Conditions& conditions) {
  Timing timing = summarise(std::move(samples_us));
  timing.calls_per_sample = watch.calls_per_sample();
  timing.conditions.mode = watch.uses_graph() ? "graph" : "events";
  conditions.describe(timing);
  return timing;
}

}  // namespace mmtune
