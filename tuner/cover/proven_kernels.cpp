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
constexpr std::size_t kMostFurther = 4;    // the most for one that no search looks at

/// The promising proven candidates of all problems with their expected times; equal sources are one program.
class ProvenTimes {
 public:
  ProvenTimes(const std::vector<const Family*>& families, const Restriction& only, const std::vector<Problem>& problems,
              std::size_t searched, const Preparation& preparation)
      : preparation_(preparation) {
    for (const Problem& problem : problems) {
      const FamilySpaces spaces(families, problem, preparation.device(), only);
      std::vector<Expected> expected;
      for (const CandidateNumber number : proven(spaces)) {
        Candidate candidate = spaces.candidate(number);
        const double time_us = spaces.predict_us(candidate);
        expected.push_back({time_us, 0, std::move(candidate)});
      }
      keep_promising(expected, expected_.size() < searched ? kMostMeasured : kMostFurther);
      for (Expected& each : expected) each.program = program_of(problem, each.candidate);
      expected_.push_back(std::move(expected));
    }
  }

  /// The programs of each problem's most promising candidate, then of every second one, until there are so many.
  std::set<std::size_t> programs(std::size_t most) const {
    std::set<std::size_t> programs;
    for (std::size_t rank = 0; rank < kMostMeasured; ++rank) {
      for (const std::vector<Expected>& expected : expected_) {
        if (rank < expected.size() && programs.size() < most) programs.insert(expected[rank].program);
      }
    }
    return programs;
  }

  CandidateLists candidates_of(const std::set<std::size_t>& programs) const {
    CandidateLists lists;
    for (const std::vector<Expected>& expected : expected_) {
      std::vector<Candidate>& list = lists.emplace_back();
      for (const Expected& each : expected) {
        if (programs.contains(each.program)) list.push_back(each.candidate);
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

  /// Sorts them and keeps those that may do well, at most so many.
  static void keep_promising(std::vector<Expected>& expected, std::size_t most) {
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Expected& x, const Expected& y) { return x.time_us < y.time_us; });
    const auto after = std::find_if(expected.begin(), expected.end(), [&](const Expected& each) {
      return each.time_us > kProvenReach * expected.front().time_us;
    });
    expected.erase(after, expected.end());
    if (expected.size() > most) expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(most), expected.end());
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
                                 const std::vector<Problem>& problems, std::size_t searched,
                                 const Preparation& preparation, std::size_t most) {
  const ProvenTimes times(families, only, problems, searched, preparation);
  return times.candidates_of(times.programs(most));
}

}  // namespace mmtune
