#include "tuner/cover/proven_kernels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "templates/base/order.h"
#include "templates/base/parallel.h"
#include "templates/family/render.h"
#include "tuner/cover/portfolio.h"
#include "tuner/tune/lessons.h"

namespace mmtune {
namespace {

constexpr std::size_t kMostMeasured = 8;  // the most proven candidates that are measured for a problem
constexpr std::size_t kMostFurther = 3;   // the most for one that no search looks at
constexpr double kReach = 1.25;           // A candidate that is expected to take so many times as long is not measured.
constexpr double kLayerLoss = 0.01;       // the mean loss beside all programs at which a layer of them is complete

/// The promising proven candidates of all problems with their expected times; equal sources are one program.
class ProvenTimes {
 public:
  ProvenTimes(const std::vector<const Family*>& families, const Restriction& only, const std::vector<Problem>& problems,
              const Preparation& preparation)
      : preparation_(preparation), sources_(preparation.files()) {
    expected_.resize(problems.size());
    for_each_on_cores(0, problems.size(), [&](std::size_t size) {
      expected_[size] = promising({families, problems[size], preparation.device(), only});
    });
    for (std::size_t i = 0; i < problems.size(); ++i) {
      for (Expected& each : expected_[i]) each.program = program_of(problems[i], each.candidate);
    }
  }

  /// Programs with one for each problem that comes close to its best, then others of which that holds again, until
  /// there are so many: the model errs, and the second may be the better one.
  std::set<std::size_t> programs(std::size_t most) const {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    TimeMatrix times{programs_.size(), std::vector<double>(expected_.size(), 1), {}};
    for (const std::vector<Expected>& expected : expected_) {
      std::vector<double>& row = times.time_us.emplace_back(programs_.size(), kNever);
      for (const Expected& each : expected) row[each.program] = each.time_us;
    }
    std::set<std::size_t> programs;
    while (programs.size() < most) {
      const Portfolio layer = choose_portfolio(times, most - programs.size(), kLayerLoss);
      if (layer.kernels.empty()) break;
      for (const std::size_t program : layer.kernels) {
        programs.insert(program);
        for (std::vector<double>& row : times.time_us) row[program] = kNever;
      }
    }
    return programs;
  }

  /// The most promising candidates of each problem from these programs.
  CandidateLists candidates_of(const std::set<std::size_t>& programs, std::size_t searched) const {
    CandidateLists lists;
    for (const std::vector<Expected>& expected : expected_) {
      const std::size_t most = lists.size() < searched ? kMostMeasured : kMostFurther;
      std::vector<Candidate>& list = lists.emplace_back();
      for (const Expected& each : expected) {
        if (list.size() < most && programs.contains(each.program)) list.push_back(each.candidate);
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

  /// The proven candidates that may do well, the shortest time first.
  static std::vector<Expected> promising(const FamilySpaces& spaces) {
    std::vector<Expected> expected;
    for (const CandidateNumber number : proven_in_all_widths(spaces)) {
      Candidate candidate = spaces.candidate(number);
      const double time_us = spaces.predict_us(candidate);
      expected.push_back({time_us, 0, std::move(candidate)});
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Expected& x, const Expected& y) { return x.time_us < y.time_us; });
    const auto after = std::find_if(expected.begin(), expected.end(), [&](const Expected& each) {
      return each.time_us > kReach * expected.front().time_us;
    });
    expected.erase(after, expected.end());
    return expected;
  }

  std::size_t program_of(const Problem& problem, const Candidate& candidate) {
    return programs_.try_emplace(preparation_.source_hash(problem, candidate, sources_), programs_.size())
        .first->second;
  }

  const Preparation& preparation_;
  SourceHashes sources_;
  std::map<std::string, std::size_t> programs_;  ///< numbers by the hashes of sources
  std::vector<std::vector<Expected>> expected_;  ///< the candidates of each problem, the shortest time first
};

}  // namespace

CandidateLists proven_candidates(const std::vector<const Family*>& families, const Restriction& only,
                                 const std::vector<Problem>& problems, std::size_t searched,
                                 const Preparation& preparation, std::size_t most) {
  const ProvenTimes times(families, only, problems, preparation);
  return times.candidates_of(times.programs(most), searched);
}

void begin_with_common_programs(const Preparation& preparation, std::vector<Problem>& problems, CandidateLists& lists) {
  SourceHashes hashes(preparation.files());
  std::vector<std::vector<std::string>> sources;
  std::map<std::string, std::size_t> uses;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    std::vector<std::string>& own = sources.emplace_back();
    for (const Candidate& each : lists[i]) {
      own.push_back(preparation.source_hash(problems[i], each, hashes));
      ++uses[own.back()];
    }
  }
  const auto least_uses = [&](std::size_t problem) {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const std::string& source : sources[problem]) least = std::min(least, uses.at(source));
    return least;
  };
  const auto order =
      places_in_order(problems.size(), [&](std::size_t x, std::size_t y) { return least_uses(x) > least_uses(y); });
  const std::vector<Problem> problems_before = std::exchange(problems, {});
  CandidateLists lists_before = std::exchange(lists, {});
  for (const std::size_t each : order) {
    problems.push_back(problems_before[each]);
    lists.push_back(std::move(lists_before[each]));
  }
}

}  // namespace mmtune
