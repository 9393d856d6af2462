// The programs of a table, and in which ways each can be launched.
#include <algorithm>
#include <utility>

#include "runtime/choose/dispatch.h"
#include "templates/family/launches.h"
#include "templates/family/split_k.h"

namespace mmtune {

namespace {

/// Whether two configurations are equal, but for the value at a position.
bool are_equal_but_for(std::optional<std::size_t> position, const Config& one, const Config& other) {
  const std::vector<Setting>&x = one.settings(), &y = other.settings();
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if ((i != position && x[i].value != y[i].value) || x[i].name != y[i].name) return false;
  }
  return true;
}

}  // namespace

/// `known` are the variants of kernels that came before.
void DispatchTable::add_variant(std::uint32_t number, Variants& known) {
  Tuned& entry = entries_[number];
  const StoredKernel& kernel = *entry.kernel;
  const auto is_same = [&](std::uint32_t each) {
    const Variant& variant = variants_[each];
    return has_program_of(variant, entry) &&
           (entries_[variant.first].kernel == entry.kernel || has_config(variant, *kernel.family, kernel.config));
  };
  if (const auto found = known.find(&kernel); found != known.end() && is_same(found->second)) {
    entry.variant = found->second;
    return;
  }
  const std::vector<std::uint32_t>& variants = group(entry.problem).variants;
  const auto same = std::find_if(variants.begin(), variants.end(), is_same);
  entry.variant = same != variants.end() ? *same : add_launch(number, kernel.config);
  known[&kernel] = entry.variant;
}

/// Adds a way to launch the program of an entry.
std::uint32_t DispatchTable::add_launch(std::uint32_t first, const Config& config) {
  const Entry& entry = entries_[first];
  const StoredKernel& kernel = *entry.kernel;
  Group& group = groups_[group_index(entry.problem)];
  const auto number = static_cast<std::uint32_t>(variants_.size());
  const auto number_in_group = static_cast<std::uint32_t>(group.variants.size());
  const KernelModel model(*kernel.family, config, entry.problem, device_, kernel.registers);
  Variant added{.first = first,
                .number = number_in_group,
                .measured_as = number_in_group,
                .model = group.number_of(model),
                .config = config,
                .needs = plan_of(entry, entry.problem).needs};
  if (model.splits_at_launch()) added.split = split_position(*kernel.family);
  for (const std::uint32_t each : group.variants) {
    Variant& other = variants_[each];
    if (entries_[other.first].kernel->binary_hash == kernel.binary_hash) continue;
    if (!has_config(other, *kernel.family, config)) continue;
    if (other.split != added.split) continue;  // A program of parts is none of whole sums.
    const Alignment &align = entry.problem.align, &of_other = entries_[other.first].problem.align;
    if (satisfies(of_other, align)) added.wider.push_back(each);
    if (satisfies(align, of_other)) other.wider.push_back(number);
  }
  variants_.push_back(std::move(added));
  group.variants.push_back(number);
  return number;
}

/// Adds ways to launch the group's programs that no entry has: with other clusters. No more than can all be weighed.
void DispatchTable::add_other_clusters(Group& group) {
  const auto stored = static_cast<std::uint32_t>(group.variants.size());
  for (std::uint32_t i = 0; i < stored; ++i) {
    const std::uint32_t first = variants_[group.variants[i]].first;
    const Entry& entry = entries_[first];
    const StoredKernel& kernel = *entry.kernel;
    for (const Config& config : with_other_clusters(*kernel.family, kernel.config, entry.problem, device_)) {
      const auto is_known = [&](std::uint32_t variant) {
        return has_program_of(variants_[variant], entry) && has_config(variants_[variant], *kernel.family, config);
      };
      if (group.variants.size() >= kMostWeighed) return;
      if (std::any_of(group.variants.begin(), group.variants.end(), is_known)) continue;
      variants_[add_launch(first, config)].measured_as = i;
    }
  }
}

/// Whether a variant has the entry's program, rendered for the same alignment.
bool DispatchTable::has_program_of(const Variant& variant, const Entry& entry) const {
  const Entry& other = entries_[variant.first];
  return other.problem.align == entry.problem.align && other.kernel->binary_hash == entry.kernel->binary_hash;
}

/// Whether a variant is of this family and configuration, but for SPLIT where the launch says it.
bool DispatchTable::has_config(const Variant& variant, const Family& family, const Config& config) const {
  return entries_[variant.first].kernel->family == &family && are_equal_but_for(variant.split, variant.config, config);
}

std::uint32_t DispatchTable::Group::number_of(const KernelModel& model) {
  const auto same = std::find(models.begin(), models.end(), model);
  const auto number = static_cast<std::uint32_t>(same - models.begin());
  if (same == models.end()) models.push_back(model);
  return number;
}

}  // namespace mmtune
