#include "tuner/measure.h"

#include "templates/dtype.h"

#include <mmtune/error.h>

#include <algorithm>
#include <cmath>

namespace mmtune {

namespace {

constexpr int kMostSets = 256;
constexpr double kLongCall_us = 1000;  // beyond it the host's launch latency is below one percent

std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// The value below which a share of the ascending samples lies, interpolated.
double quantile(const std::vector<double>& ascending, double share) {
  const double position = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (position - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

}  // namespace

OperandSets::OperandSets(const CheckKernels& kernels, const Problem& problem, const Operands& first,
                         std::int64_t l2_bytes, CUstream stream) {
  const int element = traits(problem.precision).element_bytes;
  const auto bytes = [element](const StoredShape& shape) { return aligned(shape.rows * shape.columns * element); };
  const std::int64_t a = bytes(stored_a(problem)), b = bytes(stored_b(problem)), c = bytes(stored_c(problem));
  const std::int64_t set_bytes = a + b + c;
  const auto wanted = static_cast<int>(std::min<std::int64_t>(kMostSets, 2 * l2_bytes / set_bytes + 1));
  const int count = std::max(2, wanted);

  memory_ = DeviceBuffer(static_cast<std::size_t>(set_bytes * (count - 1)));
  kernels.fill(memory_.address(), set_bytes / element * (count - 1), std::uint64_t{7} << 40, Fill::uniform, stream);
  sets_.push_back(first);
  for (int i = 1; i < count; ++i) {
    Operands operands = first;
    operands.a = memory_.address() + static_cast<CUdeviceptr>((i - 1) * set_bytes);
    operands.b = operands.a + static_cast<CUdeviceptr>(a);
    operands.c = operands.b + static_cast<CUdeviceptr>(b);
    sets_.push_back(operands);
  }
}

Stopwatch::Stopwatch(const LoadedKernel& kernel, const LaunchPlan& plan, const Problem& problem,
                     const OperandSets& sets, CUdeviceptr workspace, double estimate_us, CUstream stream)
    : kernel_(kernel),
      plan_(plan),
      problem_(problem),
      sets_(sets),
      workspace_(workspace),
      stream_(stream),
      start_(make_event()),
      stop_(make_event()) {
  if (estimate_us > kLongCall_us) return;
  calls_ = sets.count();
  MMTUNE_CUDA(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = 0; i < calls_; ++i) call(i);
  CUgraph captured = nullptr;
  MMTUNE_CUDA(cuStreamEndCapture(stream_, &captured));
  const Graph graph(captured);
  CUgraphExec executable = nullptr;
  MMTUNE_CUDA(cuGraphInstantiateWithFlags(&executable, graph.get(), 0));
  graph_ = GraphExec(executable);
  MMTUNE_CUDA(cuGraphUpload(executable, stream_));
}

void Stopwatch::call(int set) {
  Operands operands = sets_.set(set);
  operands.workspace = workspace_;
  launch(kernel_, plan_, problem_, operands, stream_);
}

double Stopwatch::sample_us() {
  MMTUNE_CUDA(cuEventRecord(start_.get(), stream_));
  if (graph_) {
    MMTUNE_CUDA(cuGraphLaunch(graph_.get(), stream_));
  } else {
    call(next_set_);
    next_set_ = (next_set_ + 1) % sets_.count();
  }
  MMTUNE_CUDA(cuEventRecord(stop_.get(), stream_));
  MMTUNE_CUDA(cuEventSynchronize(stop_.get()));
  float ms = 0;
  MMTUNE_CUDA(cuEventElapsedTime(&ms, start_.get(), stop_.get()));
  return 1000.0 * ms / calls_;
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

}  // namespace mmtune
