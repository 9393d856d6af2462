#include "tuner/cover/measured_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/choose/dispatch.h"
#include "templates/family/launches.h"
#include "templates/family/split_k.h"
#include "templates/model/cost.h"

namespace mmtune {

namespace {

std::string name_of(const TrialKey& key, const std::string& config) {
  const Problem& problem = key.problem;
  return fmt::format("{} {} {} {} {} {} {} {}", key.family, config, static_cast<int>(problem.precision),
                     static_cast<int>(problem.layout), problem.align.a, problem.align.b, problem.align.c,
                     key.source_hash);
}

std::string without_split(const Candidate& candidate) {
  Config config = candidate.config;
  if (const auto split = split_position(*candidate.family)) config.set(*split, 0);
  return config.text();
}

}  // namespace

double limited_us(double single_us, const Family& family, const Config& config, const Problem& problem,
                  const DeviceSpec& device) {
  if (power_of(problem, device) == Power::ample) return single_us;
  const auto plan = family.legal_plan(problem, config, device);
  return plan ? power_factor(problem, *plan, device) * single_us : single_us;
}

MeasuredKernels::MeasuredKernels(Store& store, const Preparation& preparation, const std::vector<Problem>& problems)
    : device_(preparation.device()), problems_(problems), times_(problems.size()) {
  std::map<std::string, std::optional<std::size_t>> numbers;  // nothing: the source is not made any more
  std::map<std::string, std::size_t> programs, launches;      // numbers of programs by source, of launches by name
  std::vector<TrialKey> keys;                                 // what each kernel was first found as
  CurrentSources sources(preparation.device(), preparation.files());
  for (std::size_t size = 0; size < problems_.size(); ++size) {
    const auto [device, problem, evidence] = preparation.key(problems_[size]);
    for (Trial& trial : store.trials({.device = device, .problem = problem, .evidence = evidence})) {
      if (!mmtune::has_time(trial.outcome)) continue;
      const TrialKey& key = trial.key;
      const auto [known, is_new] = numbers.try_emplace(name_of(key, key.config));
      if (is_new && preparation.makes(key, sources)) {
        known->second = kernels_.size();
        const std::size_t program = programs.try_emplace(key.source_hash, programs.size()).first->second;
        const Candidate candidate = *candidate_of(key);
        const std::string launch = name_of(key, without_split(candidate));
        kernels_.push_back({candidate, program, launches.try_emplace(launch, kernels_.size()).first->second,
                            key.problem.precision, key.problem.layout, key.problem.align});
        models_.emplace_back(*candidate.family, candidate.config, key.problem, device_, 0);
        keys.push_back(key);
      }
      if (!known->second) continue;
      const auto& [family, config] = kernels_[*known->second].candidate;
      times_[size][*known->second] = {limited_us(trial.timing.median_us, *family, config, problems_[size], device_),
                                      trial.outcome == Outcome::ok, std::move(trial.key)};
    }
  }
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
    if (kernels_[kernel].launch == kernel) add_other_clusters(kernel, keys[kernel], launches);
  }
}

void MeasuredKernels::add_other_clusters(std::size_t kernel, const TrialKey& key,
                                         std::map<std::string, std::size_t>& launches) {
  const auto& [family, config] = kernels_[kernel].candidate;
  for (Config& other : with_other_clusters(*family, config, key.problem, device_)) {
    Candidate candidate{family, std::move(other)};
    if (!launches.try_emplace(name_of(key, without_split(candidate)), kernel).second) continue;
    const KernelModel model(*family, candidate.config, key.problem, device_, 0);
    other_clusters_[kernel].push_back({std::move(candidate), model});
  }
}

std::vector<std::size_t> MeasuredKernels::programs() const {
  std::vector<std::size_t> programs;
  for (const SampledKernel& kernel : kernels_) programs.push_back(kernel.program);
  return programs;
}

double MeasuredKernels::best_us(std::size_t size) const {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [kernel, time] : times_[size]) {
    if (time.is_ok) best = std::min(best, time.us);
  }
  return best;
}

std::optional<std::size_t> MeasuredKernels::fastest(std::size_t size, const std::set<std::size_t>& programs) const {
  std::optional<std::size_t> best;
  for (const auto& [kernel, time] : times_[size]) {
    if (!time.is_ok || !programs.contains(kernels_[kernel].program)) continue;
    if (!best || time.us < times_[size].at(*best).us) best = kernel;
  }
  return best;
}

bool MeasuredKernels::suits(std::size_t kernel, const Problem& problem) const {
  const SampledKernel& sampled = kernels_[kernel];
  return sampled.precision == problem.precision && sampled.layout == problem.layout && sampled.align == problem.align;
}

Candidate MeasuredKernels::fitted(std::size_t kernel, const Problem& problem) const {
  const auto& [family, config] = kernels_[kernel].candidate;
  return {family, models_[kernel].fitted(*family, config, problem, device_)};
}

std::vector<Candidate> MeasuredKernels::fitted_to_other_clusters(std::size_t kernel, const Problem& problem) const {
  std::vector<Candidate> fitted;
  const auto found = other_clusters_.find(kernels_[kernel].launch);
  if (found == other_clusters_.end()) return fitted;
  for (const auto& [candidate, model] : found->second) {
    if (!model.fills_clusters(problem)) continue;
    fitted.push_back({candidate.family, model.fitted(*candidate.family, candidate.config, problem, device_)});
  }
  return fitted;
}

bool MeasuredKernels::has_time(std::size_t size, const Candidate& candidate) const {
  return std::any_of(times_[size].begin(), times_[size].end(), [&](const auto& time) {
    const Candidate& known = kernels_[time.first].candidate;
    return known.family == candidate.family && known.config == candidate.config;
  });
}

double MeasuredKernels::model_us(const Candidate& candidate, const Problem& problem) const {
  const auto plan = candidate.family->legal_plan(problem, candidate.config, device_);
  if (!plan) return std::numeric_limits<double>::infinity();
  return predict_us(problem, cost_of(problem, *plan, device_, 0), plan->workspace.bytes(), device_, 1,
                    power_of(problem, device_), KernelModel::kNoLimit)
      .us;
}

}  // namespace mmtune
