#include "tests/shim/product.h"

#include <mmtune/error.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "templates/gpu/gpu_catalog.h"
#include "test_paths.h"

namespace mmtune::shim {
namespace {

/// Scalars of integers.
double whole(double scalar) { return std::isfinite(scalar) ? std::trunc(4 * scalar) : 7; }

test::Scalars scalars_for(Precision precision, test::Scalars scalars) {
  if (!traits(precision).scalar.integer) return scalars;
  return {whole(scalars.alpha), whole(scalars.beta)};
}

}  // namespace

Problem problem_of(const Scene& scene, Precision precision, Layout layout) {
  Problem problem{precision, layout, scene.m, scene.n, scene.k, {}};
  const auto ld = [&](const StoredShape& shape) { return test::HostMatrix::ld_of(shape, scene.gaps); };
  const auto offset = [&](const FormatTraits& format) {
    return static_cast<std::uintptr_t>(scene.gaps.offset * format.bytes);
  };
  const PrecisionTraits& types = traits(precision);
  problem.align = alignment_of(problem, {ld(stored_a(problem)), ld(stored_b(problem)), ld(stored_c(problem))},
                               {offset(types.a), offset(types.b), offset(types.c)});
  return problem;
}

Product::Product(const Scene& scene, Precision precision, Layout layout)
    : scalars_(scalars_for(precision, scene.scalars)),
      exact_(scene.values == test::Values::whole),
      problem_(problem_of(scene, precision, layout)),
      a_(traits(precision).a, stored_a(problem_), scene.gaps, scene.values, 1),
      b_(traits(precision).b, stored_b(problem_), scene.gaps, scene.values, 2),
      c_(traits(precision).c, stored_c(problem_), scene.gaps,
         scalars_.beta == 0 ? test::Values::nan : test::Values::whole, 3) {}

std::vector<char> Product::bytes(const Program& program, const LaunchPlan& plan, Order order,
                                 const std::string& what) const {
  const MatrixMemory a(a_), b(b_), c(c_);
  const Memory nothing(0), workspace(static_cast<std::size_t>(plan.workspace.bytes()));
  const bool reads = scalars_.alpha != 0;
  const Operands operands{reads ? a.address() : nothing.address(),
                          reads ? b.address() : nothing.address(),
                          c.address(),
                          {a_.ld(), b_.ld(), c_.ld()},
                          scalars_.alpha,
                          scalars_.beta,
                          workspace.address()};
  launch(program, plan, problem_, operands, order, what);
  if (a.image() != a_.image() || b.image() != b_.image()) throw Error("A or B was written");
  const auto image = c.image();
  return {image.begin(), image.end()};
}

std::string Product::run(const Program& program, const LaunchPlan& plan, Order order, const std::string& what) const {
  const std::vector<char> image = bytes(program, plan, order, what);
  const test::Judge judge(problem_, scalars_, exact_);
  return test::complaint(judge, test::multiply(problem_, a_, b_), c_, image);
}

const TemplateFiles& kernel_sources() {
  static const TemplateFiles files = TemplateFiles::from_directory(MMTUNE_SOURCE_DIR);
  return files;
}

const DeviceSpec& device() {
  static const DeviceSpec small = [] {
    DeviceSpec spec = catalog_gpu("h200");
    spec.sm_count = 3;
    return spec;
  }();
  return small;
}

Source Stage::source(const Problem& problem, const LaunchPlan& plan) const {
  return render(kernel_sources(), family_, problem, config_, plan, compute_capability(device()));
}

bool Stage::takes_turns(const Problem& problem) const {
  const LaunchPlan plan = family_.plan(problem, config_, device());
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const LaunchStep& step) { return step.takes_turns; });
}

std::string Stage::beyond(const Problem& problem) const {
  return beyond_the_host(source(problem, family_.plan(problem, config_, device())), kernel_sources());
}

const Program& Stage::program(const Problem& problem, const LaunchPlan& plan) const {
  static std::map<std::string, Program> programs;
  const Source rendered = source(problem, plan);
  std::string key = rendered.hash;
  for (const LaunchStep& step : plan.steps) key += ' ' + step.kernel;  // others of the text are not compiled
  const auto known = programs.find(key);
  if (known != programs.end()) return known->second;
  return programs.emplace(key, Program(rendered, plan, kernel_sources())).first->second;
}

std::string Stage::run(const Product& product, Order order, const std::string& what) {
  const LaunchPlan plan = family_.plan(product.problem(), config_, device());
  return product.run(program(product.problem(), plan), plan, order, what);
}

std::vector<char> Stage::bytes(const Product& product, Order order, const std::string& what) {
  const LaunchPlan plan = family_.plan(product.problem(), config_, device());
  return product.bytes(program(product.problem(), plan), plan, order, what);
}

}  // namespace mmtune::shim
