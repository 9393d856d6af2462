#include <fmt/format.h>
#include <mmtune/error.h>

#include <charconv>
#include <set>
#include <string_view>
#include <unordered_set>

#include "runtime/dispatch.h"
#include "templates/families.h"

namespace mmtune {

namespace {

/// 90 of "sm_90a"; 0 if it is no such name.
int capability_of(std::string_view target) {
  constexpr std::string_view kPrefix = "sm_";
  int capability = 0;
  if (target.starts_with(kPrefix)) {
    std::from_chars(target.data() + kPrefix.size(), target.data() + target.size(), capability);
  }
  return capability;
}

/// Machine code runs on later GPUs of the same major version, architecture-specific code only on its own. For a GPU
/// that is not there, kernels of any architecture stand for what would run.
bool runs_on(std::string_view target, const DeviceSpec& device) {
  if (!device.installed) return true;
  const int built = capability_of(target);
  const int have = compute_capability(device);
  return target.ends_with('a') ? built == have : built / 10 == have / 10 && built <= have;
}

/// The winner as an entry, if this program can still launch its binary.
std::optional<Entry> entry_of(const Winner& winner, const DeviceSpec& device, const TemplateFiles& files) {
  if (!why_unusable(winner, device, files).empty()) return {};
  const TrialKey& key = winner.trial.key;
  return Entry{key.problem,
               find_family(key.family),
               Config::parse(key.config),
               winner.binary.hash,
               winner.binary.registers,
               winner.trial.timing.median_us,
               key.evidence == Evidence::measured};
}

/// Finds the fallback of the problem's precision and layout, with its machine code.
void add_fallback(Store& store, const DeviceSpec& device, const TemplateFiles& files, const Problem& problem,
                  const std::set<std::string>& targets, StoredKernels& kernels) {
  const Family& family = fallback_family();
  const Config config = family.default_config(problem);
  const LaunchPlan plan = family.plan(problem, config, device);
  for (const std::string& target : targets) {
    const Source source = render(files, family, problem, config, plan, capability_of(target));
    auto binary = store.find_compiled(source.hash, target, true);
    if (!binary) continue;
    kernels.fallbacks.push_back({problem, &family, config, binary->hash, binary->registers, 0, false});
    kernels.images[binary->hash] = std::move(binary->cubin);
    return;
  }
}

}  // namespace

std::string why_changed(const TrialKey& key, const DeviceSpec& device, const TemplateFiles& files, int capability) {
  const Family* family = find_family(key.family);
  if (family == nullptr) return fmt::format("unknown family {}", key.family);
  Config config;
  try {
    const Config given = Config::parse(key.config);
    config = family->with_defaults(given, key.problem);
    if (!(config == given)) return "its family has other parameters now";
  } catch (const UsageError&) {
    return "its family has other parameters now";
  }
  const auto plan = family->legal_plan(key.problem, config, device);
  if (!plan) return std::string(family->broken_rule(key.problem, config, device));
  const bool same = render(files, *family, key.problem, config, *plan, capability).hash == key.source_hash;
  return same ? "" : "its kernel has changed since";
}

std::string why_unusable(const Winner& winner, const DeviceSpec& device, const TemplateFiles& files) {
  const std::string& target = winner.binary.target;
  if (find_family(winner.trial.key.family) != nullptr) {  // else nothing else matters
    if (winner.binary.hash.empty()) return "its machine code is not stored here: tune again";
    if (!runs_on(target, device)) return fmt::format("compiled for {}", target);
  }
  return why_changed(winner.trial.key, device, files, capability_of(target));
}

StoredKernels load_kernels(Store& store, const DeviceSpec& device, const TemplateFiles& files) {
  StoredKernels kernels;
  RowFilter filter;
  filter.device = key_of(device);
  std::set<std::string> targets{compile_target(device, {compute_capability(device)}).name};
  std::unordered_set<Problem, ProblemHash> decided;
  for (const Winner& winner : store.winners(filter)) {
    auto entry = entry_of(winner, device, files);
    if (!entry) {
      ++kernels.unusable;
      continue;
    }
    targets.insert(winner.binary.target);
    if (decided.insert(entry->problem).second) kernels.winners.push_back(*std::move(entry));
  }
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      add_fallback(store, device, files, packed_problem(precision, layout, 1, 1, 1), targets, kernels);
    }
  }
  return kernels;
}

}  // namespace mmtune
