// The kernel families of one problem on one GPU as a space to search: what makes a search one for matrix products.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "templates/model/cost.h"
#include "templates/space/space.h"
#include "tuner/lanes/candidate.h"
#include "tuner/search/space.h"

namespace mmtune {

/// What the analytic model says of a configuration that the compiler has not seen.
Prediction predict(const Family& family, const Problem& problem, const Config& config, const DeviceSpec& device);

/// A candidate as a search sees it: the group is the family, digits are positions in its whole table.
Description describe(const Candidate& candidate, const Problem& problem, const DeviceSpec& device);

/// A space whose candidates are numbered by family, in the order given, then as in SearchSpace. Thread safe.
class FamilySpaces final : public CandidateSpace {
 public:
  FamilySpaces(const std::vector<const Family*>& families, const Problem& problem, const DeviceSpec& device,
               const Restriction& restriction = {});

  const Problem& problem() const { return problem_; }
  const std::vector<SearchSpace>& spaces() const { return spaces_; }

  /// May take most of a second, but for what it remembers: the latest list, unless that is very long.
  std::vector<RankedCandidate> ranked(std::size_t limit) const override;
  std::vector<CandidateNumber> neighbours(CandidateNumber number) const override;
  Description describe(CandidateNumber number) const override;

  Candidate candidate(CandidateNumber number) const;

  /// None if the candidate is not in these spaces.
  std::optional<CandidateNumber> number(const Candidate& candidate) const;

  /// The numbers of those candidates that are in these spaces.
  std::vector<CandidateNumber> numbers(const std::vector<Candidate>& candidates) const;

  /// The candidate with the SPLIT that is expected to be fastest here: what did well at another size has too many or
  /// too few blocks for this one. None if these spaces have it with no SPLIT.
  std::optional<CandidateNumber> fitted(const Candidate& candidate) const;

  /// The candidate that is expected to be fastest, of equal ones the first, among this one and those that differ from
  /// it in parameters at these positions alone and may be taken. None if these spaces have none of them.
  std::optional<CandidateNumber> fitted(const Candidate& candidate, const std::vector<std::size_t>& positions,
                                        const std::function<bool(const Candidate&)>& may_be_taken) const;

  LaunchPlan plan(const Candidate& candidate) const;
  double predict_us(const Candidate& candidate) const;

 private:
  struct Ranking {
    std::mutex mutex;
    std::size_t limit = 0;
    std::vector<RankedCandidate> candidates;
  };

  std::vector<RankedCandidate> rank(std::size_t limit) const;
  /// The space of the family of a candidate.
  std::size_t part_of(CandidateNumber number) const;

  std::vector<SearchSpace> spaces_;
  std::vector<CandidateNumber> firsts_;  ///< the number of each family's first candidate
  Problem problem_;
  DeviceSpec device_;
  std::shared_ptr<Ranking> ranking_ = std::make_shared<Ranking>();  ///< the latest one
};

/// The spaces of the problems that a run tunes or soon will: what looked through one for a head start does it for the
/// search, too. Thread safe.
class SpaceMemory {
 public:
  /// All must outlive it.
  SpaceMemory(const std::vector<const Family*>& families, const DeviceSpec& device, const Restriction& restriction)
      : families_(families), device_(device), restriction_(restriction) {}

  std::shared_ptr<const FamilySpaces> of(const Problem& problem);

 private:
  static constexpr std::size_t kMost = 8;  // the most that are kept; the oldest are forgotten

  const std::vector<const Family*>& families_;
  const DeviceSpec& device_;
  const Restriction& restriction_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<const FamilySpaces>> kept_;
};

}  // namespace mmtune
