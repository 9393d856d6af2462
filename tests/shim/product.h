// One product on the simulated machine, from the operands to a judgement.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "templates/family/family.h"
#include "tests/shim/launch.h"

namespace mmtune::shim {

struct Scene {
  const char* what;
  std::int64_t m, n, k;
  test::Values values = test::Values::whole;
  test::Scalars scalars = {};
  test::Gaps gaps = {};
};

/// The problem of a scene, with the alignment of its operands.
Problem problem_of(const Scene& scene, Precision precision, Layout layout);

/// The operands of a scene and what becomes of C.
class Product {
 public:
  Product(const Scene& scene, Precision precision, Layout layout);

  const Problem& problem() const { return problem_; }

  /// Runs the plan and returns the bytes of C, gaps included. C is NaN before if beta = 0; A and B do not exist if
  /// alpha = 0. Throws Error if A or B is written.
  std::vector<char> bytes(const Program& program, const LaunchPlan& plan, Order order, const std::string& what) const;

  /// The same, but returns the first thing that is wrong with C, or nothing.
  std::string run(const Program& program, const LaunchPlan& plan, Order order, const std::string& what) const;

 private:
  test::Scalars scalars_;
  bool exact_;
  Problem problem_;
  test::HostMatrix a_, b_, c_;
};

/// The kernel sources of this source tree, as they are now.
const TemplateFiles& kernel_sources();

/// The device that plans are made for: it has all that the machine simulates, and three multiprocessors, so that small
/// products are more than one wave of blocks.
const DeviceSpec& device();

/// One configuration of a family: rendered for every product that it runs, each program compiled once in a process.
class Stage {
 public:
  /// `settings` is the text of those that are not the default for this problem. Throws UsageError for unknown ones.
  Stage(const Family& family, std::string_view settings, const Problem& problem)
      : family_(family), config_(family.with_defaults(family.parse(settings), problem)) {}

  const Family& family() const { return family_; }
  const Config& config() const { return config_; }
  std::string name() const { return fmt::format("{} {}", family_.name(), config_.text()); }

  /// Whether the configuration can run the problem.
  bool can_run(const Problem& problem) const { return family_.broken_rule(problem, config_, device()).empty(); }

  /// Whether blocks take tiles in turn.
  bool takes_turns(const Problem& problem) const;

  /// What keeps the configuration from running here (tests/shim/program.h); empty if nothing does.
  std::string beyond(const Problem& problem) const;

  /// Returns what is wrong with the result, or nothing. Throws Error if the source does not compile.
  std::string run(const Product& product, Order order, const std::string& what);

  /// The bytes of the result.
  std::vector<char> bytes(const Product& product, Order order, const std::string& what);

 private:
  Source source(const Problem& problem, const LaunchPlan& plan) const;
  const Program& program(const Problem& problem, const LaunchPlan& plan) const;

  const Family& family_;
  Config config_;
};

}  // namespace mmtune::shim
