// A kernel family: one kernel.cu, the parameters it is rendered with, the rules they obey and the way it is launched.
//
// It is written as one struct (family_of.h and docs/extending.md), and families.h lists them all. Families are
// immutable and may be used from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "templates/base/config.h"
#include "templates/family/param.h"
#include "templates/family/summation.h"
#include "templates/gpu/device_spec.h"
#include "templates/plan/launch_plan.h"
#include "templates/problem/problem.h"

namespace mmtune {

/// A parameter as the outside sees it.
struct ParamInfo {
  std::string_view name;                ///< "BM": constant in the rendered source, key in the text form; never rename
  std::vector<int> values;              ///< what the search may try, ascending; stored in databases
  std::string_view help;                ///< "rows of C per block"
  std::vector<std::string_view> names;  ///< names of the values, in order: "coalesced"; empty where numbers say it all

  /// The value of the table that is written so, as a number or by its name; nothing if there is none.
  std::optional<int> value_of(std::string_view text) const;

  /// "coalesced"; empty for a value without a name.
  std::string_view name_of(int value) const;

  /// All values: "0 linear, 1 uncoalesced" or "32, 64".
  std::string choices() const;
};

/// What a family asks of a configuration.
struct RuleInfo {
  bool is_must = false;  ///< false: it says what is worth a trial
  std::string_view sentence;

  friend bool operator==(const RuleInfo&, const RuleInfo&) = default;
};

/// Collects what speaks against a configuration: why it cannot run, and why it runs but is not worth trying. A reason
/// is a fixed sentence, so that configurations can be counted by it; explain() says the numbers for one of them.
class Rules {
 public:
  /// The rules that are asked: all, or only those of must().
  enum class Scope { all, musts };

  /// The first rule that does not hold closes `reads`: what is looked at later does not change that verdict.
  explicit Rules(Reads* reads = nullptr, Scope scope = Scope::all) : reads_(reads), scope_(scope) {}

  /// Makes a list of rules: each goes to `list` instead of being judged.
  explicit Rules(std::vector<RuleInfo>& list) : list_(&list) {}

  /// What a configuration needs in order to run and to be right: "TM divides BM".
  void must(bool holds, std::string_view reason) { note(true, holds, reason); }

  /// What makes it worth a trial: "every split has at least four tiles of k". The search leaves out the others; one
  /// that is named, or is the default, is allowed.
  void worth(bool holds, std::string_view reason) { note(false, holds || scope_ == Scope::musts, reason); }

  bool ok() const { return broken_.empty(); }          ///< whether it runs
  bool searched() const { return reason_.empty(); }    ///< whether it runs and is worth trying
  std::string_view broken() const { return broken_; }  ///< the first `must` that does not hold; empty if all do
  std::string_view reason() const { return reason_; }  ///< the first rule of either kind that does not hold

 private:
  void note(bool is_must, bool holds, std::string_view reason) {
    if (list_ != nullptr) list_->push_back({is_must, reason});
    if (holds || list_ != nullptr) return;
    if (is_must && broken_.empty()) broken_ = reason;
    if (!reason_.empty()) return;
    reason_ = reason;
    if (reads_ != nullptr) reads_->close();
  }

  Reads* reads_ = nullptr;
  Scope scope_ = Scope::all;
  std::vector<RuleInfo>* list_ = nullptr;
  std::string_view broken_;
  std::string_view reason_;
};

/// A configuration that was the fastest of many for a problem on some GPU: what experience says, where the model only
/// reckons.
struct Proven {
  Precision precision;
  std::int64_t m, n, k;
  std::string_view config;  ///< "BM=128 …"; what is not named is at its default
};

class Family {
 public:
  virtual ~Family() = default;

  virtual std::string_view name() const = 0;              ///< the name, stored in databases: never rename
  virtual std::string_view summary() const = 0;           ///< one line for lists
  virtual std::span<const ParamInfo> params() const = 0;  ///< the table; lives as long as the family

  /// The first rule that keeps this configuration from running, or an empty view. Includes the limits that hold for
  /// every family: threads, shared memory, registers, grid, alignment.
  virtual std::string_view broken_rule(const Problem& problem, const Config& config,
                                       const DeviceSpec& device) const = 0;

  /// What keeps a search from trying it: the same rules, and those of worth. The common limits are looked at last, and
  /// only for what is worth trying.
  virtual Rules judge(const Problem& problem, const Config& config, const DeviceSpec& device) const = 0;

  /// How to launch it. The configuration must be complete; rules need not hold.
  virtual LaunchPlan plan(const Problem& problem, const Config& config, const DeviceSpec& device) const = 0;

  /// The plan of a configuration that no rule keeps from running; nothing for another. The configuration must be
  /// complete.
  virtual std::optional<LaunchPlan> legal_plan(const Problem& problem, const Config& config,
                                               const DeviceSpec& device) const = 0;

  /// The same as the other broken_rule, for values in table order. Which of them mattered is noted in `reads`: as long
  /// as these stay, so does the answer.
  virtual std::string_view broken_rule(const Problem& problem, std::span<const int> values, const DeviceSpec& device,
                                       Reads& reads) const = 0;

  /// All rules in the order in which they are asked: the family's own, then the limits that hold for every family.
  virtual std::vector<RuleInfo> all_rules(const Problem& problem, const DeviceSpec& device) const = 0;

  /// The family's own rules and the plan for values in table order, for enumerations. Which of them mattered is noted
  /// in `reads`. The common limits are left to the caller.
  virtual Rules own_rules(const Problem& problem, std::span<const int> values, const DeviceSpec& device,
                          Reads& reads) const = 0;
  virtual LaunchPlan plan(const Problem& problem, std::span<const int> values, const DeviceSpec& device,
                          Reads& reads) const = 0;

  /// How it adds up an element of C. The configuration must be complete.
  virtual Summation summation(const Problem& problem, const Config& config, const DeviceSpec& device) const = 0;

  /// A configuration that is right for every problem and reasonable for most; it can run wherever any configuration of
  /// the family can.
  virtual Config default_config(const Problem& problem) const = 0;

  /// The configurations that a search may begin with. Other tables, problems or GPUs may not allow what is listed.
  virtual std::span<const Proven> proven() const { return {}; }

  /// Whether the search may propose it. The reference is a yardstick, not a competitor.
  virtual bool competes() const { return true; }

  /// Parses "NAME=VALUE NAME=VALUE …" with values as numbers or by their names. Throws UsageError as Config::parse
  /// does, and for an unknown name or a value outside the table, naming both and what is allowed.
  Config parse(std::string_view text) const;

  /// The default configuration but for what is given, whether or not that can run; for what is stored. Throws
  /// UsageError as parse() does.
  Config with_defaults(const Config& given, const Problem& problem) const;

  /// The same, but where that cannot run, the nearest configuration that can, for what people write: fewest steps to
  /// neighbouring values of the table in total; of equals the one that changes what comes first in the table, and to
  /// smaller values. What is given stays, also where it is all of it and cannot run. Throws UsageError as parse() does,
  /// and where nothing goes with it.
  Config complete(const Config& given, const Problem& problem, const DeviceSpec& device) const;
};

/// "simt BM=128 BN=256: needs 213 KiB of shared memory, device allows 99 KiB": the broken rule with its numbers where
/// the rule is one of the common limits; for log lines and usage errors.
std::string explain(const Family& family, const Problem& problem, const Config& config, const DeviceSpec& device);

/// The limits common to all families, checked on a finished plan.
void check_common_limits(const Problem& problem, const LaunchPlan& plan, const DeviceSpec& device, Rules& rules);

}  // namespace mmtune
