#include <fmt/format.h>
#include <mmtune/error.h>

#include <charconv>
#include <set>
#include <string_view>

#include "runtime/choose/dispatch.h"
#include "templates/family/families.h"
#include "templates/family/render.h"

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

/// Finds the fallback of the problem's precision and layout, with its machine code.
void add_fallback(Store& store, CurrentSources& sources, const Problem& problem, const std::set<std::string>& targets,
                  StoredKernels& kernels) {
  for (const std::string& target : targets) {
    auto binary = store.find_compiled(sources.fallback_hash(problem, capability_of(target)), target);
    if (!binary) continue;
    const Family& family = fallback_family();
    const StoredKernel kernel{&family, family.default_config(problem), binary->hash, binary->registers};
    kernels.fallbacks.push_back({problem, std::make_shared<const StoredKernel>(kernel), 0, false});
    kernels.images[binary->hash] = std::move(binary->cubin);
    return;
  }
}

/// Nothing if the family has other parameters now.
std::optional<Config> config_of(const Family& family, const TrialKey& key) {
  try {
    const Config given = Config::parse(key.config);
    if (family.with_defaults(given, key.problem) == given) return given;
  } catch (const UsageError&) {
  }
  return std::nullopt;
}

std::string why_unusable(const TrialKey& key, const Binary& binary, CurrentSources& sources) {
  if (find_family(key.family) != nullptr) {  // Nothing else matters for an unknown family.
    if (binary.hash.empty()) return "its machine code is not stored here: tune again";
    if (!runs_on(binary.target, sources.device())) return fmt::format("compiled for {}", binary.target);
  }
  return why_changed(key, sources, capability_of(binary.target));
}

/// The kernels that this program can launch, each looked at once.
class Usable {
 public:
  Usable(const ServedDecisions& served, CurrentSources& sources)
      : served_(served), sources_(sources), kernels_(served.kernels.size()) {}

  /// Null if it cannot launch that of the size.
  std::shared_ptr<const StoredKernel> kernel(const ServedSize& size) {
    auto& known = kernels_[size.kernel];
    if (known) return *known;
    const ServedKernel& kernel = served_.kernels[size.kernel];
    const TrialKey key{key_of(sources_.device()), size.problem, kernel.family, kernel.config,
                       kernel.source_hash,        size.evidence};
    if (why_unusable(key, kernel.binary, sources_).empty()) {
      known = std::make_shared<const StoredKernel>(StoredKernel{
          find_family(kernel.family), Config::parse(kernel.config), kernel.binary.hash, kernel.binary.registers});
    } else if (!is_of_size(key)) {
      known = nullptr;
    }
    return known.value_or(nullptr);
  }

  /// Null if no size has asked for the kernel, or none can launch it.
  std::shared_ptr<const StoredKernel> known(std::size_t kernel) const { return kernels_[kernel].value_or(nullptr); }

 private:
  /// Whether the kernel may be one for other sizes.
  bool is_of_size(const TrialKey& key) const {
    const Family* family = find_family(key.family);
    const auto config = family != nullptr ? config_of(*family, key) : std::nullopt;
    return config && !family->legal_plan(key.problem, *config, sources_.device());
  }

  const ServedDecisions& served_;
  CurrentSources& sources_;
  std::vector<std::optional<std::shared_ptr<const StoredKernel>>> kernels_;
};

}  // namespace

std::string why_changed(const TrialKey& key, CurrentSources& sources, int capability) {
  const Family* family = find_family(key.family);
  if (family == nullptr) return fmt::format("unknown family {}", key.family);
  const auto config = config_of(*family, key);
  if (!config) return "its family has other parameters now";
  const auto plan = family->legal_plan(key.problem, *config, sources.device());
  if (!plan) return std::string(family->broken_rule(key.problem, *config, sources.device()));
  const bool same = sources.hash(*family, key.problem, *config, *plan, capability) == key.source_hash;
  return same ? "" : "its kernel has changed since";
}

std::string why_changed(const TrialKey& key, const DeviceSpec& device, const TemplateFiles& files, int capability) {
  CurrentSources sources(device, files);
  return why_changed(key, sources, capability);
}

std::string why_unusable(const TrialKey& key, const Binary& binary, const DeviceSpec& device,
                         const TemplateFiles& files) {
  CurrentSources sources(device, files);
  return why_unusable(key, binary, sources);
}

const std::string& CurrentSources::fallback_hash(const Problem& problem, int capability) {
  const auto [entry, is_new] = fallbacks_.try_emplace({problem.precision, problem.layout, capability});
  if (is_new) {
    const Family& family = fallback_family();
    const Problem any = packed_problem(problem.precision, problem.layout, 1, 1, 1);
    const Config config = family.default_config(any);
    entry->second = hash(family, any, config, family.plan(any, config, device_), capability);
  }
  return entry->second;
}

StoredKernels load_kernels(Store& store, const DeviceSpec& device, const TemplateFiles& files) {
  CurrentSources sources(device, files);
  return load_kernels(store, sources);
}

StoredKernels load_kernels(Store& store, CurrentSources& sources) {
  const DeviceSpec& device = sources.device();
  StoredKernels kernels;
  std::set<std::string> targets{compile_target(device, {compute_capability(device)}).name};
  const ServedDecisions served = store.served(key_of(device));
  Usable usable(served, sources);
  kernels.winners.reserve(served.sizes.size());
  for (const ServedSize& size : served.sizes) {
    auto kernel = usable.kernel(size);
    if (!kernel) {
      ++kernels.unusable;
      continue;
    }
    // Measured and predicted decisions for a size stand beside each other.
    if (!kernels.winners.empty() && kernels.winners.back().problem == size.problem) continue;
    kernels.winners.push_back(
        {size.problem, std::move(kernel), size.median_us, size.evidence == Evidence::measured, size.cublas_ratio});
  }
  for (std::size_t i = 0; i < served.kernels.size(); ++i) {
    if (usable.known(i)) targets.insert(served.kernels[i].binary.target);
  }
  kernels.times.reserve(served.times.size());
  for (const ServedTime& time : served.times) {
    if (auto kernel = usable.known(time.kernel)) {
      kernels.times.push_back({time.problem, std::move(kernel), time.median_us, true});
    }
  }
  for (const Precision precision : kAllPrecisions) {
    for (const Layout layout : kAllLayouts) {
      add_fallback(store, sources, packed_problem(precision, layout, 1, 1, 1), targets, kernels);
    }
  }
  return kernels;
}

}  // namespace mmtune
