#include "tuner/commands/shard_option.h"

#include <fmt/format.h>
#include <mmtune/error.h>

#include <cstdint>

#include "runtime/base/env.h"
#include "runtime/base/log.h"
#include "templates/base/parsed_number.h"
#include "tuner/text/text.h"

namespace mmtune {
namespace {

/// The number of a task among how many, from 0.
struct TaskNumber {
  std::int64_t index = 0;
  std::int64_t count = 1;
  std::string origin;
};

constexpr std::string_view kRemedy = "give --shard 3/16 for the third of 16 shares, or --shard none";

[[noreturn]] void refuse(std::string_view name, std::string_view text, std::string_view cause) {
  throw UsageError(fmt::format("{} '{}': {}; {}", name, excerpt(text), cause, kRemedy));
}

/// A number of the environment.
std::optional<std::int64_t> number(std::string_view name) {
  const auto text = env::get(name);
  if (!text) return std::nullopt;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;  // Slurm's numbers are below, and products of two fit.
  const auto value = parsed_number<std::uint64_t>(*text);
  if (!value || *value > kMost) refuse(name, *text, "not a whole number up to 2147483648");
  return static_cast<std::int64_t>(*value);
}

std::int64_t number(std::string_view name, std::string_view needed_by) {
  const auto value = number(name);
  if (!value) refuse(name, "", fmt::format("not set, but {} is", needed_by));
  return *value;
}

/// The share of a task among all indices of the array `--array=FIRST-LAST:STEP`.
std::optional<TaskNumber> array_task() {
  constexpr std::string_view kId = "SLURM_ARRAY_TASK_ID";
  const auto id = number(kId);
  if (!id) return std::nullopt;
  const std::int64_t count = number("SLURM_ARRAY_TASK_COUNT", kId);
  const std::int64_t first = number("SLURM_ARRAY_TASK_MIN").value_or(0);
  const std::int64_t step = number("SLURM_ARRAY_TASK_STEP").value_or(1);
  const bool is_regular = step > 0 && *id >= first && (*id - first) % step == 0 && (*id - first) / step < count;
  if (!is_regular) {
    refuse(kId, fmt::format("{}", *id),
           fmt::format("not of an array of {} that begins with {} in steps of {}, as shares need", count, first, step));
  }
  return TaskNumber{(*id - first) / step, count, fmt::format("{} {}", kId, *id)};
}

/// The share of a task among those that srun has started at once. In a batch script the number of tasks is what the job
/// may start.
std::optional<TaskNumber> task_of_step() {
  const std::int64_t count = number("SLURM_NTASKS").value_or(1);
  const auto index = number("SLURM_PROCID");
  const bool is_batch_script = env::get("SLURM_JOB_ID") && !env::get("SLURM_STEP_ID");
  if (count == 1 || !index || is_batch_script) return std::nullopt;
  return TaskNumber{*index, count, fmt::format("SLURM_PROCID {}", *index)};
}

std::optional<TaskNumber> pod() {
  constexpr std::string_view kIndex = "JOB_COMPLETION_INDEX";
  const auto index = number(kIndex);
  if (!index) return std::nullopt;
  return TaskNumber{*index, number("MMTUNE_SHARDS", kIndex), fmt::format("{} {}", kIndex, *index)};
}

std::optional<TaskNumber> task_in_environment() {
  auto of_array = array_task();
  auto of_step = task_of_step();
  if (of_array && of_step) {
    return TaskNumber{of_array->index * of_step->count + of_step->index, of_array->count * of_step->count,
                      fmt::format("{} and {}", of_array->origin, of_step->origin)};
  }
  if (of_array) return of_array;
  return of_step ? of_step : pod();
}

}  // namespace

Option shard_option(std::optional<Share>& shard) {
  return {.names = "--shard",
          .value = "I/N",
          .help =
              "only the I-th of N shares of the problems, which take about the same time; none: all (default: as "
              "Slurm or Kubernetes says)",
          .target = parsed_target(shard, parse_share)};
}

Share take_share(SessionOptions& session, const std::optional<Share>& named) {
  const auto [share, origin] = named ? ChosenShare{*named, "--shard"} : share_in_environment();
  if (origin.empty() || share.count == 1) return {};
  const auto all = std::ssize(session.problems);
  session.problems = problems_of(session, share);
  log::warning("share {}/{}, by {}: {} of {}; --shard none tunes them all", share.number, share.count, origin,
               session.problems.size(), counted(all, "problem"));
  return share;
}

Share parse_share(std::string_view text) {
  if (text == "none") return {};
  const auto parts = split(text, '/');
  const auto index = parsed_number<std::uint64_t>(parts.front());
  const auto count = parsed_number<std::uint64_t>(parts.back());
  if (parts.size() != 2 || !index || !count || *index < 1 || *index > *count || *count > kMostShares) {
    refuse("--shard", text, fmt::format("not I/N with I from 1 to N and N up to {}", kMostShares));
  }
  return {static_cast<int>(*index), static_cast<int>(*count)};
}

ChosenShare share_in_environment() {
  const auto task = task_in_environment();
  if (!task) return {};
  const auto& [index, count, origin] = *task;
  if (index >= count || count > kMostShares) {
    const std::string numbers = count > kMostShares ? fmt::format("are at most {}", kMostShares)
                                                    : fmt::format("count from 0, and there are {}", count);
    throw UsageError(fmt::format("{}: shares {}; {}", origin, numbers, kRemedy));
  }
  return {{static_cast<int>(index) + 1, static_cast<int>(count)}, fmt::format("{} of {}", origin, count)};
}

}  // namespace mmtune
