// A space that another program has searched exhaustively: what its candidates came to is known, and nothing else.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "templates/space/neighbours.h"
#include "tuner/search/strategy.h"

namespace mmtune {

/// One configuration and what it came to.
struct MeasuredCandidate {
  std::vector<std::string> values;  ///< the value of each parameter
  Observation observation;          ///< what was observed, never Kind::too_slow
};

/// A space without a model: all candidates are expected to take equally long. They are numbered from 0 as they are
/// given; which combinations there are is all that is known of restrictions.
class MeasuredSpace final : public CandidateSpace {
 public:
  /// A parameter has the values that occur: numbers in ascending order, else as they first occur. Of a configuration
  /// that comes twice the later one counts. Every candidate has a value for each parameter.
  MeasuredSpace(std::string name, std::vector<MeasuredCandidate> candidates);

  const std::string& name() const { return name_; }
  std::size_t size() const { return candidates_.size(); }
  const MeasuredCandidate& candidate(CandidateNumber number) const;

  /// The shortest time; 0 if all failed.
  double best_us() const;

  std::vector<RankedCandidate> ranked(std::size_t limit) const override;
  std::vector<CandidateNumber> neighbours(CandidateNumber candidate) const override;
  Description describe(CandidateNumber candidate) const override;

 private:
  std::string name_;
  std::vector<MeasuredCandidate> candidates_;
  std::vector<Digits> digits_;      ///< the digits of each candidate, by its number
  std::vector<std::size_t> sizes_;  ///< the size of each parameter's table
  std::map<Digits, CandidateNumber> numbers_;
};

/// Reads a cache file of Kernel Tuner, or results in the T4 format of the autotuning community, as JSON that gzip may
/// have compressed; times are milliseconds. A configuration without a time is one that failed. Throws UsageError for a
/// file that cannot be read, is neither, or has no time at all.
MeasuredSpace read_measured_space(const std::string& path);

}  // namespace mmtune
