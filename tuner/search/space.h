// What is searched: any finite set of numbered candidates, and what is known of them before one is judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mmtune {

/// Identifies a candidate within its space. Not negative; numbers may have gaps.
using CandidateNumber = std::int64_t;

/// What candidates are compared by.
struct Features {
  std::string_view group;  ///< the group; candidates of one have the same parameters. It outlives all spaces.
  std::vector<std::uint16_t> digits;  ///< the position of each parameter's value in its table
  std::vector<double> shares;         ///< the shares of the expected time by cause; as many for all candidates, or none
};

/// What is known of a candidate before it is judged.
struct Description {
  Features features;
  double expected_us = 0;  ///< the time that a model expects; 0 where there is none
};

/// A candidate and what a model expects of it.
struct RankedCandidate {
  CandidateNumber number = 0;
  double expected_us = 0;
};

/// The candidates that are worth trying. May have millions: what is not asked for need not be made.
class CandidateSpace {
 public:
  virtual ~CandidateSpace() = default;

  /// The `limit` candidates with the shortest expected times, shortest first; equals by their numbers.
  virtual std::vector<RankedCandidate> ranked(std::size_t limit) const = 0;

  /// Candidates that differ little from this one, each once.
  virtual std::vector<CandidateNumber> neighbours(CandidateNumber candidate) const = 0;

  virtual Description describe(CandidateNumber candidate) const = 0;
};

}  // namespace mmtune
