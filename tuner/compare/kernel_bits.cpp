#include "tuner/compare/kernel_bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/gpu/launch.h"
#include "templates/base/parallel.h"
#include "templates/problem/dtype.h"
#include "templates/space/space.h"
#include "tuner/tune/session_options.h"

namespace mmtune {
namespace {

constexpr std::size_t kBestRanked = 2000;  // the best configurations, of which some far apart are taken

std::vector<Program> stating_programs(const Preparation& preparation, const Problem& problem, std::size_t count) {
  std::vector<Program> programs;
  std::set<std::string> known;
  for (const Family* family : searched_families({})) {
    for (const bool invariant : {false, true}) {
      Problem each = problem;
      each.invariant = invariant;
      const SearchSpace space(*family, each, preparation.device());
      std::vector<Config> stating;
      for (const RankedConfig& ranked : space.ranked(kBestRanked)) {
        Config config = space.config(ranked.number);
        const Summation summation = family->summation(each, config, preparation.device());
        if (summation.adder != Summation::Adder::other) stating.push_back(std::move(config));
      }
      const std::size_t taken = std::min(count, stating.size());
      for (std::size_t i = 0; i < taken; ++i) {
        Program program = preparation.program(each, {family, stating[i * stating.size() / taken]});
        if (known.insert(key_of(program.candidate)).second) programs.push_back(std::move(program));
      }
    }
  }
  return programs;
}

}  // namespace

std::vector<KernelBitsRow> compare_kernels(const Preparation& preparation, const Nvrtc& nvrtc,
                                           const CheckKernels& kernels, const Problem& problem, std::size_t count) {
  std::vector<Program> programs = stating_programs(preparation, problem, count);
  for_each_on_cores(0, programs.size(),
                    [&](std::size_t i) { programs[i].binary = preparation.compiled(programs[i], nvrtc); });
  const PrecisionTraits& types = traits(problem.precision);
  const Stream stream = make_stream();
  const DeviceBuffer a(static_cast<std::size_t>(problem.m * problem.k * types.a.bytes));
  const DeviceBuffer b(static_cast<std::size_t>(problem.k * problem.n * types.b.bytes));
  const DeviceBuffer c(static_cast<std::size_t>(problem.m * problem.n * types.c.bytes));
  Operands operands{.a = a.address(), .b = b.address(), .c = c.address(), .ld = packed_leading_dimensions(problem)};
  std::vector<KernelBitsRow> rows;
  for (const auto& [fill, values] : {std::pair(Fill::uniform, "uniform"), std::pair(Fill::positive, "positive")}) {
    kernels.fill(Role::a, operands.a, problem.m * problem.k, 1, fill, stream.get());
    kernels.fill(Role::b, operands.b, problem.k * problem.n, 2, fill, stream.get());
    std::map<std::string, std::uint64_t> first;  // The bits of the first kernel of each summation.
    for (const Program& program : programs) {
      const auto& [family, config] = program.candidate;
      const LoadedKernel kernel(program.binary.cubin, program.plan);
      const DeviceBuffer workspace(static_cast<std::size_t>(std::max<std::int64_t>(1, program.plan.workspace.bytes())));
      operands.workspace = workspace.address();
      MMTUNE_CUDA(cuMemsetD8Async(c.address(), 0xff, c.bytes(), stream.get()));
      launch(kernel, program.plan, problem, operands, stream.get());
      const std::uint64_t bits =
          kernels.fingerprints({{c.address(), static_cast<std::int64_t>(c.bytes())}}, stream.get()).front();
      const std::string summation = to_string(family->summation(program.key.problem, config, preparation.device()));
      const auto expected = first.try_emplace(summation, bits).first->second;
      rows.push_back({problem, values, std::string(family->name()), config.text(), summation, bits, bits != expected});
    }
  }
  return rows;
}

Table kernel_bits_table(const std::vector<KernelBitsRow>& rows) {
  Table table({left("precision", Fit::shared), left("layout", Fit::shared), right("m"), right("n"), right("k"),
               left("values"), left("family"), left("config", Fit::wraps), left("summation", Fit::wraps), left("bits"),
               right("differs")});
  for (const KernelBitsRow& row : rows) {
    const Problem& p = row.problem;
    table.add({to_string(p.precision), to_string(p.layout), p.m, p.n, p.k, row.values, row.family, row.config,
               row.summation, fmt::format("{:016x}", row.bits), row.differs});
  }
  return table;
}

}  // namespace mmtune
