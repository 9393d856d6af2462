#include "tuner/measure/verify.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "templates/problem/dtype.h"
#include "templates/problem/error_bound.h"
#include "tuner/measure/measure.h"

namespace mmtune {

namespace {

constexpr double kAlpha = 0.75;
constexpr double kBeta = -0.5;

std::int64_t element_count(const StoredShape& shape) { return shape.rows * shape.columns; }

/// Scalars that exercise both terms; integers where sums are.
std::pair<double, double> scalars(Precision precision) {
  return traits(precision).scalar.integer ? std::pair{3.0, -2.0} : std::pair{kAlpha, kBeta};
}

}  // namespace

GuardedBuffer::GuardedBuffer(std::int64_t bytes)
    : bytes_(bytes), memory_(static_cast<std::size_t>(bytes + 2 * kZone)) {}

void GuardedBuffer::poison_zones(CUstream stream) const {
  MMTUNE_CUDA(cuMemsetD8Async(memory_.address(), 0xff, kZone, stream));
  MMTUNE_CUDA(cuMemsetD8Async(address() + static_cast<CUdeviceptr>(bytes_), 0xff, kZone, stream));
}

void GuardedBuffer::check_zones(const CheckKernels& kernels, CUdeviceptr damaged, CUstream stream) const {
  kernels.check_guard(memory_.address(), kZone, damaged, stream);
  kernels.check_guard(address() + static_cast<CUdeviceptr>(bytes_), kZone, damaged, stream);
}

Verifier::Verifier(const CheckKernels& kernels, const Problem& problem, CUstream stream)
    : kernels_(kernels),
      problem_(problem),
      stream_(stream),
      padded_ldc_(problem.n + 16 / traits(problem.precision).c.bytes),
      whole_(make_data(Fill::whole_numbers, 1)),
      random_(make_data(Fill::uniform, 2)),
      c_(problem.m * padded_ldc_ * traits(problem.precision).c.bytes),
      c0_(static_cast<std::size_t>(c_.bytes())),
      damaged_(sizeof(unsigned)) {
  c_.poison_zones(stream_);
  fill_all();
  fingerprints_ = fingerprints();
}

Verifier::Data Verifier::make_data(Fill kind, std::uint64_t seed) const {
  const PrecisionTraits& types = traits(problem_.precision);
  const std::int64_t count_a = element_count(stored_a(problem_)), count_b = element_count(stored_b(problem_));
  const auto results = static_cast<std::size_t>(problem_.m * problem_.n);
  return {kind,
          seed,
          GuardedBuffer(count_a * types.a.bytes),
          GuardedBuffer(count_b * types.b.bytes),
          DeviceBuffer(results * (types.accumulator.integer ? sizeof(unsigned) : sizeof(double))),
          DeviceBuffer(results * sizeof(float))};
}

void Verifier::fill(const Data& data) const {
  const std::int64_t count_a = element_count(stored_a(problem_)), count_b = element_count(stored_b(problem_));
  // Seeds far apart: fill() numbers its values from the seed on.
  kernels_.fill(Role::a, data.a.address(), count_a, data.seed << 40, data.kind, stream_);
  kernels_.fill(Role::b, data.b.address(), count_b, (data.seed << 40) + (std::uint64_t{1} << 39), data.kind, stream_);
  data.a.poison_zones(stream_);
  data.b.poison_zones(stream_);
  kernels_.reference_sums(problem_, data.a.address(), data.b.address(), data.exact.address(), data.magnitude.address(),
                          stream_);
}

void Verifier::fill_all() const {
  fill(whole_);
  fill(random_);
  kernels_.fill(Role::c, c0_.address(), problem_.m * padded_ldc_, 3, Fill::uniform, stream_);
  kernels_.poison_padding(c0_.address(), problem_.m, problem_.n, padded_ldc_, stream_);
  MMTUNE_CUDA(cuStreamSynchronize(stream_));
}

std::vector<std::uint64_t> Verifier::fingerprints() const {
  std::vector<Range> ranges;
  const auto add = [&](const auto& buffer) {
    ranges.push_back({buffer.address(), static_cast<std::int64_t>(buffer.bytes())});
  };
  for (const Data* data : {&whole_, &random_}) {
    add(data->a);
    add(data->b);
    add(data->exact);
    add(data->magnitude);
  }
  add(c0_);
  return kernels_.fingerprints(ranges, stream_);
}

bool Verifier::repair_data() const {
  if (fingerprints() == fingerprints_) return false;
  fill_all();
  return true;
}

CUdeviceptr Verifier::workspace(const LaunchPlan& plan) {
  if (plan.workspace.bytes() == 0) return 0;
  if (workspace_.empty() || workspace_.front().bytes() < plan.workspace.bytes()) {
    workspace_.clear();
    workspace_.emplace_back(plan.workspace.bytes());
    workspace_.front().poison_zones(stream_);
  }
  return workspace_.front().address();
}

Operands Verifier::random_operands(const LaunchPlan& plan) {
  Operands operands;
  operands.a = random_.a.address();
  operands.b = random_.b.address();
  operands.c = c_.address();
  operands.ld = packed_leading_dimensions(problem_);
  operands.workspace = workspace(plan);
  return operands;
}

void Verifier::poison_c() {
  MMTUNE_CUDA(cuMemsetD8Async(c_.address(), kPoison, static_cast<std::size_t>(c_.bytes()), stream_));
}

void Verifier::run(const LoadedKernel& kernel, const LaunchPlan& plan, const Operands& operands,
                   unsigned char contents) {
  if (plan.workspace.bytes() > 0) {
    MMTUNE_CUDA(
        cuMemsetD8Async(operands.workspace, contents, static_cast<std::size_t>(plan.workspace.bytes()), stream_));
  }
  launch(kernel, plan, problem_, operands, stream_);
}

Verdict Verifier::check(const LoadedKernel& kernel, const LaunchPlan& plan) {
  Operands operands = random_operands(plan);
  operands.ld.c = padded_ldc_;

  operands.a = whole_.a.address();
  operands.b = whole_.b.address();
  poison_c();
  run(kernel, plan, operands);
  Verdict verdict = judge(whole_, 1, 0, padded_ldc_, ErrorBound{});
  if (verdict.outcome != Outcome::ok) return verdict;

  MMTUNE_CUDA(cuMemcpyDtoDAsync(c_.address(), c0_.address(), c0_.bytes(), stream_));
  std::tie(operands.alpha, operands.beta) = scalars(problem_.precision);
  operands.a = random_.a.address();
  operands.b = random_.b.address();
  const Event start = make_event(), stop = make_event();
  MMTUNE_CUDA(cuEventRecord(start.get(), stream_));
  run(kernel, plan, operands);
  MMTUNE_CUDA(cuEventRecord(stop.get(), stream_));
  verdict = judge(random_, operands.alpha, operands.beta, padded_ldc_, error_bound(problem_));
  float ms = 0;
  MMTUNE_CUDA(cuEventElapsedTime(&ms, start.get(), stop.get()));
  if (verdict.outcome != Outcome::ok) return verdict;
  verdict.timing = summarise({1000.0 * ms});
  verdict.timing.conditions.mode = "events";
  return verdict;
}

double Verifier::relative_error(const Call& call) {
  poison_c();
  call(random_operands(LaunchPlan{}), stream_);
  return kernels_.relative_error(problem_, random_.exact.address(), c_.address(), problem_.n, stream_);
}

Verdict Verifier::check_after_timing() {
  Verdict verdict = judge(random_, 1, 0, problem_.n, error_bound(problem_));
  if (verdict.outcome == Outcome::wrong_result) verdict.outcome = Outcome::unstable;
  return verdict;
}

std::uint64_t Verifier::bits_of_c() const {
  const std::int64_t bytes = problem_.m * problem_.n * traits(problem_.precision).c.bytes;
  return kernels_.fingerprints({{c_.address(), bytes}}, stream_).front();
}

Verdict Verifier::check_again(const LoadedKernel& kernel, const LaunchPlan& plan, int launches,
                              std::optional<std::uint64_t> before) {
  Verdict verdict;
  bool deterministic = true;
  for (int i = 1; i <= launches && verdict.outcome == Outcome::ok; ++i) {
    poison_c();
    run(kernel, plan, random_operands(plan), i % 2 == 0 ? 0 : kPoison);
    verdict = check_after_timing();
    const std::uint64_t bits = bits_of_c();
    deterministic = deterministic && bits == before.value_or(bits);
    before = before.value_or(bits);
    if (verdict.outcome != Outcome::ok) {
      verdict.outcome = Outcome::unstable;
      verdict.note = fmt::format("launch {} of {}: {}", i, launches, verdict.note);
    }
  }
  verdict.deterministic = deterministic;
  return verdict;
}

Verdict Verifier::judge(const Data& data, double alpha, double beta, std::int64_t ldc, const ErrorBound& bound) {
  Verdict verdict;
  const Finding found = kernels_.compare(problem_, alpha, beta, data.exact.address(), data.magnitude.address(),
                                         c0_.address(), c_.address(), ldc, bound, stream_);
  verdict.error_share = found.share;
  // Looked at also after a wrong result: the next kernel must find everything whole.
  const unsigned damaged = damaged_guards();
  const bool overwritten = repair_data();
  if (found.wrong > 0) {
    verdict.outcome = Outcome::wrong_result;
    const auto n = static_cast<unsigned long long>(problem_.n);
    verdict.note = fmt::format("{} of {} elements beyond the bound, first C[{},{}], alpha={} beta={}", found.wrong,
                               problem_.m * problem_.n, found.first / n, found.first % n, alpha, beta);
  } else if (damaged + found.padding_written > 0) {
    verdict.outcome = Outcome::guard_violation;
    verdict.note =
        fmt::format("{} bytes of guard zones and {} elements of padding were written", damaged, found.padding_written);
  } else if (overwritten) {
    verdict.outcome = Outcome::guard_violation;
    verdict.note = "operands, or memory far from C, were written";
  }
  return verdict;
}

unsigned Verifier::damaged_guards() {
  unsigned damaged = 0;
  MMTUNE_CUDA(cuMemsetD8Async(damaged_.address(), 0, sizeof damaged, stream_));
  std::vector<const GuardedBuffer*> buffers{&whole_.a, &whole_.b, &random_.a, &random_.b, &c_};
  for (const GuardedBuffer& buffer : workspace_) buffers.push_back(&buffer);
  for (const GuardedBuffer* buffer : buffers) buffer->check_zones(kernels_, damaged_.address(), stream_);
  MMTUNE_CUDA(cuMemcpyDtoHAsync(&damaged, damaged_.address(), sizeof damaged, stream_));
  MMTUNE_CUDA(cuStreamSynchronize(stream_));
  if (damaged > 0) {
    for (const GuardedBuffer* buffer : buffers) buffer->poison_zones(stream_);
  }
  return damaged;
}

}  // namespace mmtune
