#include "tuner/documents/whole_call.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "tuner/documents/whole_numbers.h"
#include "tuner/measure/measure.h"

namespace mmtune {
namespace {

using Clock = std::chrono::steady_clock;

// There are as many launches as take kSamples_ms, within these bounds; the first one warms up unless it is the only
// one.
constexpr double kSamples_ms = 200;
constexpr double kMostRepeats = 9;

}  // namespace

WholeCalls::WholeCalls() : stream_(make_stream()), start_(make_event()), stop_(make_event()) {}

void WholeCalls::prepare(const Problem& problem) {
  if (matrices_ && matrices_->problem == problem) return;
  const PrecisionTraits& types = traits(problem.precision);
  matrices_.reset();
  matrices_.emplace(Matrices{
      problem, whole_numbers(types.a, problem.m, problem.k, 1), whole_numbers(types.b, problem.k, problem.n, 2), {}});
}

double WholeCalls::launch_ms(const LoadedKernel& kernel, const Program& program, const Operands& operands) {
  MMTUNE_CUDA(cuEventRecord(start_.get(), stream_.get()));
  launch(kernel, program.plan, program.key.problem, operands, stream_.get());
  MMTUNE_CUDA(cuEventRecord(stop_.get(), stream_.get()));
  MMTUNE_CUDA(cuEventSynchronize(stop_.get()));
  float ms = 0;
  MMTUNE_CUDA(cuEventElapsedTime(&ms, start_.get(), stop_.get()));
  return ms;
}

/// Copies on the stream of the launches: the default stream, for which this one does not wait, may be late with it.
CUdeviceptr WholeCalls::copied(const DeviceBuffer& buffer, const std::vector<std::byte>& from) {
  MMTUNE_CUDA(cuMemcpyHtoDAsync(buffer.address(), from.data(), from.size(), stream_.get()));
  return buffer.address();
}

WholeTime WholeCalls::time(const Program& program) {
  const Problem& problem = program.key.problem;
  prepare(problem);
  Matrices& host = *matrices_;
  host.c.assign(static_cast<std::size_t>(problem.m * problem.n * traits(problem.precision).c.bytes), std::byte{0xff});
  const LoadedKernel kernel(program.binary.cubin, program.plan);
  MMTUNE_CUDA(cuCtxSynchronize());
  std::vector<double> samples_us;
  WholeTime time;
  const auto start = Clock::now();
  {
    const DeviceBuffer a(host.a.size()), b(host.b.size()), c(host.c.size());
    const DeviceBuffer workspace(static_cast<std::size_t>(program.plan.workspace.bytes()));
    const Operands operands{.a = copied(a, host.a),
                            .b = copied(b, host.b),
                            .c = c.address(),
                            .ld = packed_leading_dimensions(problem),
                            .workspace = workspace.address()};
    const double first_ms = launch_ms(kernel, program, operands);
    MMTUNE_CUDA(cuMemcpyDtoH(host.c.data(), c.address(), host.c.size()));
    time.total_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    const double more = std::min(kMostRepeats, kSamples_ms / std::max(first_ms, 1e-3));
    for (int i = 0; i < static_cast<int>(more); ++i) samples_us.push_back(1e3 * launch_ms(kernel, program, operands));
    if (samples_us.empty()) samples_us.push_back(1e3 * first_ms);
  }
  time.kernel_ms = 1e-3 * summarise(std::move(samples_us)).median_us;
  if (!is_product(problem, host.a, host.b, host.c)) {
    throw Error(
        fmt::format("{} {}: the result is wrong, a fault of mmtune", to_string(problem), key_of(program.candidate)));
  }
  return time;
}

}  // namespace mmtune
