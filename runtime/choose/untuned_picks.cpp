#include "runtime/choose/untuned_picks.h"

#include <utility>

#include "runtime/choose/untuned.h"
#include "templates/family/summation.h"
#include "templates/model/cost.h"

namespace mmtune {
namespace {

constexpr std::int64_t kThin = 64;     // extents below this ask for other kernels
constexpr double kTunedIsWorth = 1.5;  // a tuned configuration is worth this factor of the model's word

}  // namespace

/// The model's time of each product.
double UntunedPicks::model_us(const LaunchPlan& plan, const Problem& problem, std::int64_t products) const {
  return predict(with_depth(problem), plan, device_, 0, products).time_us / static_cast<double>(products);
}

std::optional<Choice> UntunedPicks::best(const Problem& problem, std::int64_t products) const {
  auto tuned = table_.recompiled(problem);
  if (tuned && products == 1) return tuned;
  auto untuned = untuned_choice(problem, device_, products);
  if (!tuned || !untuned) return tuned ? std::move(tuned) : std::move(untuned);
  // What won alone need not be the fastest for many. The time of what is not tuned is the model's.
  const auto plan = tuned->family->plan(with_depth(problem), tuned->config, device_);
  const bool is_slow = model_us(plan, problem, products) > kTunedIsWorth * untuned->expected_us;
  return is_slow ? std::move(untuned) : std::move(tuned);
}

std::optional<Choice> UntunedPicks::first_of_kind(const Problem& problem, std::int64_t products) {
  const int parts = problem.invariant ? invariant_parts(problem, compute_capability(device_)) : 0;
  const Kind kind{problem.precision,  problem.layout,     problem.align.a,    problem.align.b, problem.align.c,
                  problem.m >= kThin, problem.n >= kThin, problem.k >= kThin, products > 1,    parts};
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = picks_.try_emplace(kind);
  if (is_new) return entry->second = best(problem, products);
  std::optional<Choice> choice = entry->second;
  if (!choice) return std::nullopt;
  auto plan = choice->family->legal_plan(with_depth(problem), choice->config, device_);
  if (!plan) return std::nullopt;
  choice->expected_us = model_us(*plan, problem, products);
  choice->plan = problem.k > 0 ? *std::move(plan) : choice->family->plan(problem, choice->config, device_);
  choice->why = "nothing is tuned for this call: what was compiled for another one";
  return choice;
}

}  // namespace mmtune
