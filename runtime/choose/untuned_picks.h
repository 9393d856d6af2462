// What is compiled where no stored kernel can run a problem.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "runtime/choose/dispatch.h"

namespace mmtune {

/// Thread safe.
class UntunedPicks {
 public:
  /// The table and the device must live as long.
  UntunedPicks(const DispatchTable& table, const DeviceSpec& device) : table_(table), device_(device) {}

  /// The nearest tuned configuration for the problem's alignment, or untuned_choice() where there is none, or where
  /// that one is expected to be clearly faster for all products of a batch. Takes up to a second.
  std::optional<Choice> best(const Problem& problem, std::int64_t products) const;

  /// What was the best for the first problem of its kind, so that all of a kind share one program; nothing where that
  /// cannot run this one.
  std::optional<Choice> first_of_kind(const Problem& problem, std::int64_t products);

 private:
  /// Precision, layout, three alignments, whether each extent is thin, whether it is a batch, the parts of an invariant
  /// product or 0.
  using Kind = std::tuple<Precision, Layout, int, int, int, bool, bool, bool, bool, int>;

  double model_us(const LaunchPlan& plan, const Problem& problem, std::int64_t products) const;

  const DispatchTable& table_;
  const DeviceSpec& device_;
  std::mutex mutex_;
  std::map<Kind, std::optional<Choice>> picks_;
};

}  // namespace mmtune
