// How well a library serves sizes that were not tuned: each way of choosing a kernel beside tuning the size, and beside
// another implementation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/choose/dispatch.h"
#include "tuner/lanes/program.h"
#include "tuner/text/report.h"

namespace mmtune {

/// One way of choosing at one size.
struct AuditRow {
  std::string policy;  ///< "exact": tuned for this size; "nearest", "model", "learnt": see Policy
  std::uint64_t seed = 0;
  Problem problem;
  std::string match;
  std::string family;
  std::string config;
  double expected_us = 0;
  double us = 0;
  std::optional<double> tuned_us = {};   ///< the time of the tuned kernel, where the size was tuned too
  std::optional<double> cublas_us = {};  ///< the time of the faster of its entries
};

/// What kernels take for a problem, in their order, and the other implementation; the latter may be unknown.
struct AuditTimes {
  std::vector<double> us;
  std::optional<double> cublas_us;
};
using AuditMeasure = std::function<AuditTimes(const Problem&, const std::vector<Program>&)>;

/// The program of a choice; nothing if it is not stored.
using ProgramOf = std::function<std::optional<Program>(const Choice&)>;

/// Rows of one size: one for each policy that finds a kernel, and one for `tuned` if there is one. Kernels that several
/// chose are measured once. Throws what `measure` throws.
std::vector<AuditRow> audit_size(const Problem& problem, std::uint64_t seed, const DispatchTable& table,
                                 const ProgramOf& program_of, const std::optional<Program>& tuned,
                                 const AuditMeasure& measure);

/// CSV and JSON: policy,seed,precision,layout,m,n,k,match,family,config,us,tuned_us,cublas_us.
Table audit_table(const std::vector<AuditRow>& rows);

/// One line for each policy: how many sizes, the speed beside the other implementation (geometric mean, tenth
/// percentile, worst), the loss beside tuning (mean, worst), and by how much expected times are off at the median.
std::vector<std::string> audit_summary(const std::vector<AuditRow>& rows);

}  // namespace mmtune
