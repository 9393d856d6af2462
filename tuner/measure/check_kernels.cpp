#include "tuner/measure/check_kernels.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "templates/base/hash.h"

namespace mmtune {

namespace embedded {
const std::vector<std::pair<std::string_view, std::string_view>>& mmtune_tuner();
}

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 16384;  // the most blocks: the kernels stride over what is beyond
constexpr std::int64_t kSumBlocks = 1024;    // the blocks of squares() and fingerprint(), each of which leaves a sum
constexpr std::size_t kMostRanges = 16;      // the most ranges whose fingerprints are taken at once

template <std::size_t N>
void launch_linear(CUfunction function, std::int64_t blocks, int block_x, int block_y, std::array<void*, N> arguments,
                   CUstream stream) {
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(std::max<std::int64_t>(1, blocks));
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(block_x);
  config.blockDimY = static_cast<unsigned>(block_y);
  config.blockDimZ = 1;
  config.hStream = stream;
  MMTUNE_CUDA(cuLaunchKernelEx(&config, function, arguments.data(), nullptr));
}

std::int64_t blocks_for(std::int64_t count) { return std::min((count + kThreads - 1) / kThreads, kMostBlocks); }

}  // namespace

Source check_source(Precision precision, Layout layout) {
  std::string_view body;
  for (const auto& [path, text] : embedded::mmtune_tuner()) {
    if (path == "tuner/measure/kernels/check.cu") body = text;
  }
  Source source;
  source.name = "check";
  source.text = fmt::format(
      "#include \"mmtune/numeric.cuh\"\n{}"
      "constexpr bool TRANSPOSE_A = {};\nconstexpr bool TRANSPOSE_B = {};\n"
      "#line 1 \"tuner/measure/kernels/check.cu\"\n{}",
      type_names(precision), transposes_a(layout), transposes_b(layout), body);
  source.hash = ContentHash().add(source.text).hex();
  return source;
}

CheckKernels::CheckKernels(const Nvrtc& nvrtc, const CompileTarget& target, Precision precision, Layout layout)
    : finding_(sizeof(Finding)), prints_(kMostRanges * sizeof(std::uint64_t)) {
  const Compilation compilation = nvrtc.compile(check_source(precision, layout), TemplateFiles::embedded(), target);
  if (!compilation.ok()) throw Error("check.cu does not compile, a fault of mmtune: " + compilation.log);
  module_ = load_module(compilation.cubin);
  fill_ = {find_function(module_, "fill_a"), find_function(module_, "fill_b"), find_function(module_, "fill_c")};
  reference_sums_ = find_function(module_, "reference_sums");
  compare_ = find_function(module_, "compare");
  squares_ = find_function(module_, "squares");
  fingerprint_ = find_function(module_, "fingerprint");
  check_guard_ = find_function(module_, "check_guard");
  poison_padding_ = find_function(module_, "poison_padding");
}

void CheckKernels::fill(Role role, CUdeviceptr elements, std::int64_t count, std::uint64_t seed, Fill kind,
                        CUstream stream) const {
  int what = static_cast<int>(kind);
  const CUfunction function = fill_[static_cast<std::size_t>(role)];
  launch_linear<4>(function, blocks_for(count), kThreads, 1, {&elements, &count, &seed, &what}, stream);
}

void CheckKernels::reference_sums(const Problem& problem, CUdeviceptr a, CUdeviceptr b, CUdeviceptr exact,
                                  CUdeviceptr magnitude, CUstream stream) const {
  std::int64_t m = problem.m, n = problem.n, k = problem.k;
  LeadingDimensions ld = packed_leading_dimensions(problem);
  const std::int64_t tiles = ((m + 31) / 32) * ((n + 31) / 32);
  launch_linear<9>(reference_sums_, tiles, 32, 8, {&m, &n, &k, &a, &ld.a, &b, &ld.b, &exact, &magnitude}, stream);
}

Finding CheckKernels::compare(const Problem& problem, double alpha, double beta, CUdeviceptr exact,
                              CUdeviceptr magnitude, CUdeviceptr c0, CUdeviceptr c, std::int64_t ldc,
                              const ErrorBound& bound, CUstream stream) const {
  Finding found;
  CUdeviceptr finding = finding_.address();
  MMTUNE_CUDA(cuMemcpyHtoDAsync(finding, &found, sizeof found, stream));
  std::int64_t m = problem.m, n = problem.n;
  ErrorBound factors = bound;
  launch_linear<14>(compare_, blocks_for(m * ldc), kThreads, 1,
                    {&m, &n, &alpha, &beta, &exact, &magnitude, &c0, &c, &ldc, &factors.sum, &factors.result,
                     &factors.scale, &factors.absolute, &finding},
                    stream);
  MMTUNE_CUDA(cuMemcpyDtoHAsync(&found, finding, sizeof found, stream));
  MMTUNE_CUDA(cuStreamSynchronize(stream));
  return found;
}

double CheckKernels::relative_error(const Problem& problem, CUdeviceptr exact, CUdeviceptr c, std::int64_t ldc,
                                    CUstream stream) const {
  std::int64_t m = problem.m, n = problem.n;
  const std::int64_t blocks = std::min(blocks_for(m * n), kSumBlocks);
  std::vector<std::array<double, 2>> sums(static_cast<std::size_t>(blocks));
  const std::size_t bytes = sums.size() * sizeof sums.front();
  const DeviceBuffer buffer(bytes);
  CUdeviceptr address = buffer.address();
  launch_linear<6>(squares_, blocks, kThreads, 1, {&m, &n, &exact, &c, &ldc, &address}, stream);
  MMTUNE_CUDA(cuMemcpyDtoHAsync(sums.data(), address, bytes, stream));
  MMTUNE_CUDA(cuStreamSynchronize(stream));
  double error = 0, whole = 0;
  for (const auto& [difference, value] : sums) {
    error += difference;
    whole += value;
  }
  return error == 0 ? 0 : std::sqrt(error / whole);
}

std::vector<std::uint64_t> CheckKernels::fingerprints(const std::vector<Range>& ranges, CUstream stream) const {
  std::vector<std::uint64_t> prints(ranges.size());
  const std::size_t bytes = prints.size() * sizeof(std::uint64_t);
  if (bytes > prints_.bytes()) throw Error("fingerprints: too many ranges, a fault of mmtune");
  MMTUNE_CUDA(cuMemsetD8Async(prints_.address(), 0, bytes, stream));
  CUdeviceptr sum = prints_.address();
  for (auto [address, bytes_of_range] : ranges) {
    launch_linear<3>(fingerprint_, std::min(blocks_for((bytes_of_range + 7) / 8), kSumBlocks), kThreads, 1,
                     {&address, &bytes_of_range, &sum}, stream);
    sum += sizeof(std::uint64_t);
  }
  MMTUNE_CUDA(cuMemcpyDtoHAsync(prints.data(), prints_.address(), bytes, stream));
  MMTUNE_CUDA(cuStreamSynchronize(stream));
  return prints;
}

void CheckKernels::poison_padding(CUdeviceptr c, std::int64_t m, std::int64_t n, std::int64_t ld,
                                  CUstream stream) const {
  launch_linear<4>(poison_padding_, blocks_for(m), kThreads, 1, {&c, &m, &n, &ld}, stream);
}

void CheckKernels::check_guard(CUdeviceptr zone, std::int64_t bytes, CUdeviceptr damaged, CUstream stream) const {
  launch_linear<3>(check_guard_, blocks_for(bytes), kThreads, 1, {&zone, &bytes, &damaged}, stream);
}

}  // namespace mmtune
