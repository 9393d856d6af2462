#include "tuner/cover/machine_code.h"

#include <string>
#include <utility>

#include "runtime/base/log.h"
#include "tuner/tune/fallbacks.h"
#include "tuner/workers/compile_pool.h"

namespace mmtune {
namespace {

std::vector<Program> missing_code(const MeasuredKernels& measured, const std::set<std::size_t>& programs,
                                  const Preparation& preparation, Store& store) {
  std::vector<Program> missing;
  std::set<std::string> seen;
  for (std::size_t size = 0; size < measured.problems().size(); ++size) {
    for (const auto& [kernel, time] : measured.times(size)) {
      const SampledKernel& each = measured.kernels()[kernel];
      const std::string& source = time.key.source_hash;
      if (!time.is_ok || !programs.contains(each.program) || !seen.insert(source).second) continue;
      if (store.find_compiled(source, preparation.target().name)) continue;
      missing.push_back(preparation.program(measured.problems()[size], each.candidate));
    }
  }
  return missing;
}

}  // namespace

void compile_missing(const MeasuredKernels& measured, const std::set<std::size_t>& programs,
                     const Preparation& preparation, int jobs, Store& store) {
  const std::vector<Program> missing = missing_code(measured, programs, preparation, store);
  if (missing.empty()) return;
  CompilePool pool(preparation.files(), {.jobs = jobs});
  const Preparation compiling(preparation.files(), preparation.device(), preparation.target(), preparation.evidence(),
                              pool.compiler().version);
  CompileQueue compiler(pool);
  for (std::size_t i = 0; i < missing.size(); ++i) compiler.submit(i, missing[i].source, compiling.target());
  while (const auto result = compiler.next()) {
    const Program& program = missing[result->ticket];
    if (result->outcome == Outcome::ok) {
      store.put_compiled(program.key.source_hash, compiling.binary(result->compilation));
    } else {
      log::warning("{}: does not compile: {}", key_of(program.candidate), result->compilation.log);
    }
  }
}

void drop_losing_code(const std::vector<Problem>& problems, const Preparation& preparation, Store& store) {
  std::vector<ProblemKey> keys;
  std::vector<std::string> fallbacks;
  std::set<std::pair<Precision, Layout>> rendered;
  for (const Problem& problem : problems) {
    keys.push_back(preparation.key(problem));
    if (!rendered.emplace(problem.precision, problem.layout).second) continue;
    fallbacks.push_back(fallback_for(problem.precision, problem.layout, preparation).source.hash);
  }
  store.drop_losing_code(keys, fallbacks);
}

}  // namespace mmtune
