#include "tuner/cover/proven_kernels.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tuner/tune/lessons.h"

namespace mmtune {
namespace {

constexpr std::size_t kMostMeasured = 12;  // the most proven candidates that are measured for a problem

/// Proven candidates of all problems with their expected times; equal sources are one program.
class ProvenTimes {
 public:
  ProvenTimes(const std::vector<const Family*>& families, const Restriction& only, const std::vector<Problem>& problems,
              const Preparation& preparation)
      : preparation_(preparation) {
    for (const Problem& problem : problems) {
      const FamilySpaces spaces(families, problem, preparation.device(), only);
      std::vector<Expected>& expected = expected_.emplace_back();
      for (const CandidateNumber number : proven(spaces)) {
        Candidate candidate = spaces.candidate(number);
        const double time_us = spaces.predict_us(candidate);
        expected.push_back({time_us, program_of(problem, candidate), std::move(candidate)});
      }
      std::stable_sort(expected.begin(), expected.end(),
                       [](const Expected& x, const Expected& y) { return x.time_us < y.time_us; });
    }
  }

  /// The programs of each problem's most promising candidate, then of every second one, until there are so many.
  std::set<std::size_t> programs(std::size_t most) const {
    std::set<std::size_t> programs;
    for (std::size_t rank = 0; rank < kMostMeasured; ++rank) {
      for (const std::vector<Expected>& expected : expected_) {
        if (rank < promising(expected) && programs.size() < most) programs.insert(expected[rank].program);
      }
    }
    return programs;
  }

  CandidateLists candidates_of(const std::set<std::size_t>& programs) const {
    CandidateLists lists;
    for (const std::vector<Expected>& expected : expected_) {
      std::vector<Candidate>& list = lists.emplace_back();
      for (std::size_t rank = 0; rank < promising(expected) && list.size() < kMostMeasured; ++rank) {
        if (programs.contains(expected[rank].program)) list.push_back(expected[rank].candidate);
      }
    }
    return lists;
  }

 private:
  struct Expected {
    double time_us;
    std::size_t program;
    Candidate candidate;
  };

  /// How many of the first may do well.
  static std::size_t promising(const std::vector<Expected>& expected) {
    const auto after = std::find_if(expected.begin(), expected.end(), [&](const Expected& each) {
      return each.time_us > kProvenReach * expected.front().time_us;
    });
    return static_cast<std::size_t>(after - expected.begin());
  }

  std::size_t program_of(const Problem& problem, const Candidate& candidate) {
    const std::string source = preparation_.source(*candidate.family, problem, candidate.config).hash;
    return programs_.try_emplace(source, programs_.size()).first->second;
  }

  const Preparation& preparation_;
  std::map<std::string, std::size_t> programs_;  ///< numbers by the hashes of sources
  std::vector<std::vector<Expected>> expected_;  ///< the candidates of each problem, the shortest time first
};

}  // namespace

CandidateLists proven_candidates(const std::vector<const Family*>& families, const Restriction& only,
                                 const std::vector<Problem>& problems, const Preparation& preparation,
                                 std::size_t most) {
  const ProvenTimes times(families, only, problems, preparation);
  return times.candidates_of(times.programs(most));
}

}  // namespace mmtune
