#include "db/rows.h"

#include <limits>

#include "db/validate.h"

namespace mmtune {

namespace {

template <class... Args>
void bind_all(Statement& statement, const Args&... args) {
  (bind_value(statement, args), ...);
}

void bind_nulls(Statement& statement, int count) {
  for (int i = 0; i < count; ++i) statement.bind(nullptr);
}

Problem read_problem(Reader& reader) {
  Problem problem;
  problem.precision = reader.enumerator<Precision>();
  problem.layout = reader.enumerator<Layout>();
  problem.m = reader.wide();
  problem.n = reader.wide();
  problem.k = reader.wide();
  problem.align.a = reader.integer();
  problem.align.b = reader.integer();
  problem.align.c = reader.integer();
  return problem;
}

Timing read_timing(Reader& reader) {
  Timing timing;
  timing.median_us = reader.real();
  timing.q1_us = reader.real();
  timing.q3_us = reader.real();
  timing.min_us = reader.real();
  timing.samples = reader.integer();
  timing.calls_per_sample = reader.integer();
  timing.mode = reader.text();
  timing.sm_clock_mhz = reader.real();
  timing.memory_clock_mhz = reader.real();
  timing.throttle = reader.integer();
  timing.co_tenants = reader.integer();
  timing.disturbed = reader.integer();
  timing.clock_limit_mhz = reader.integer();
  timing.power_limit_w = reader.real();
  return timing;
}

Environment read_environment(Reader& reader) {
  Environment environment;
  environment.driver = reader.text();
  environment.nvrtc = reader.text();
  environment.commit = reader.text();
  environment.device_uuid = reader.text();
  return environment;
}

}  // namespace

void bind_value(Statement& statement, const DeviceKey& device) {
  bind_all(statement, device.name, device.compute_capability, device.sm_count, device.smem_per_block_optin);
}

void bind_value(Statement& statement, const Problem& problem) {
  bind_all(statement, problem.precision, problem.layout, problem.m, problem.n, problem.k, problem.align.a,
           problem.align.b, problem.align.c);
}

void bind_value(Statement& statement, const TrialKey& key) {
  bind_all(statement, key.device, key.problem, key.family, key.config, key.source_hash, key.evidence);
}

void bind_value(Statement& statement, const Timing& timing) {
  bind_all(statement, timing.median_us, timing.q1_us, timing.q3_us, timing.min_us, timing.samples,
           timing.calls_per_sample, timing.mode, timing.sm_clock_mhz, timing.memory_clock_mhz, timing.throttle,
           timing.co_tenants, timing.disturbed, timing.clock_limit_mhz, timing.power_limit_w);
}

void bind_value(Statement& statement, const Environment& environment) {
  bind_all(statement, environment.driver, environment.nvrtc, environment.commit, environment.device_uuid);
}

void bind_value(Statement& statement, const RowFilter& filter) {
  filter.device ? bind_value(statement, *filter.device) : bind_nulls(statement, 4);
  filter.problem ? bind_value(statement, *filter.problem) : bind_nulls(statement, 8);
  bind_all(statement, filter.precision, filter.layout, filter.evidence, filter.family);
}

int Reader::integer() {
  const std::int64_t value = wide();
  using Limits = std::numeric_limits<int>;
  valid_ = valid_ && value >= Limits::min() && value <= Limits::max();
  return valid_ ? static_cast<int>(value) : 0;
}

bool Reader::boolean() {
  const std::int64_t value = wide();
  valid_ = valid_ && (value == 0 || value == 1);
  return value == 1;
}

DeviceKey read_device(Reader& reader) {
  DeviceKey device;
  device.name = reader.text();
  device.compute_capability = reader.integer();
  device.sm_count = reader.integer();
  device.smem_per_block_optin = reader.wide();
  return device;
}

TrialKey read_key(Reader& reader) {
  TrialKey key;
  key.device = read_device(reader);
  key.problem = read_problem(reader);
  key.family = reader.text();
  key.config = reader.text();
  key.source_hash = reader.text();
  key.evidence = reader.enumerator<Evidence>();
  return key;
}

Trial read_trial(Reader& reader) {
  Trial trial;
  trial.key = read_key(reader);
  trial.outcome = reader.enumerator<Outcome>();
  trial.note = reader.text();
  trial.binary_hash = reader.text();
  trial.timing = read_timing(reader);
  trial.error_share = reader.real();
  trial.deterministic = reader.boolean();
  trial.occupancy = reader.real();
  trial.smem_bytes = reader.wide();
  trial.environment = read_environment(reader);
  trial.created = reader.text();
  return trial;
}

Binary read_binary(Reader& reader) {
  Binary binary;
  binary.hash = reader.text();
  binary.target = reader.text();
  binary.exact_target = reader.boolean();
  binary.registers = reader.integer();
  binary.spill_bytes = reader.integer();
  binary.stack_bytes = reader.integer();
  binary.static_smem_bytes = reader.integer();
  binary.compile_ms = reader.real();
  return binary;
}

std::optional<Trial> valid_trial(const Rows& rows) {
  Reader reader(rows);
  Trial trial = read_trial(reader);
  if (!reader.valid() || !fault_of(trial).empty()) return std::nullopt;
  return trial;
}

}  // namespace mmtune
