#include "tuner/tune/head_start.h"

#include <exception>
#include <string>
#include <unordered_set>
#include <utility>

#include "runtime/base/log.h"
#include "tuner/search/rounds.h"
#include "tuner/tune/search_start.h"

namespace mmtune {
namespace {

std::vector<Candidate> first_candidates(const TuningSetup& setup, const Problem& problem,
                                        const std::vector<Candidate>& favourites) {
  if (!setup.options.mode.searches()) return {};  // The stored ones have their machine code.
  const auto spaces = setup.spaces.of(problem);
  const auto strategy = begin_search(setup, *spaces, favourites);
  std::vector<Candidate> candidates;
  // A search that ends by the clock may not come to what it would order after its first round.
  const std::size_t rounds = setup.options.budget_s > 0 ? 1 : Rounds::kUnderWay;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const CandidateNumber number : strategy->propose()) candidates.push_back(spaces->candidate(number));
  }
  return candidates;
}

/// The programs that a problem tries before anything is learnt of it, but for those whose machine code is stored: as
/// many as compilers have time for.
std::vector<Program> first_programs(const TuningSetup& setup, const Problem& problem,
                                    const std::vector<Candidate>& favourites) {
  std::vector<Program> programs;
  for (const Candidate& candidate : first_candidates(setup, problem, favourites)) {
    if (programs.size() == setup.pace.at_once) break;
    Program program = setup.preparation.program(problem, candidate);
    if (!setup.code.find(program.key.source_hash, setup.store)) programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace

void HeadStart::order(std::vector<Program> programs) {
  for (const std::size_t ticket : compiler_.withdraw()) ordered_.erase(ticket);
  hand_over();
  order_more(std::move(programs));
}

void HeadStart::order_more(std::vector<Program> programs) {
  for (Program& program : programs) {
    if (code_.find(program.key.source_hash) || lost_.given_up(program.key.source_hash)) continue;
    compiler_.submit(next_ticket_, std::move(program.source), preparation_.target());
    ordered_.emplace(next_ticket_++, std::move(program.key));
  }
}

void HeadStart::hand_over() {
  while (const auto result = compiler_.next_finished()) {
    const TrialKey key = std::move(ordered_.extract(result->ticket).mapped());
    if (result->outcome == Outcome::ok) code_.keep(key, preparation_.binary(result->compilation));
    if (is_kill(result->outcome)) lost_.note(key, result->outcome);
  }
}

void order_listed(const SessionMode& mode, const Preparation& preparation, Store& store, CodeMemory& code,
                  HeadStart& head_start, const std::vector<Problem>& problems) {
  SourceHashes sources(preparation.files());
  std::unordered_set<std::string> seen;
  for (const Problem& problem : problems) {
    for (const Candidate& each : mode.listed(problem)) {
      const std::string source = preparation.source_hash(problem, each, sources);
      if (!seen.insert(source).second) continue;
      Program program = preparation.program(problem, each);
      if (const auto stored = code.find(source, store)) {
        code.keep(program.key, *stored);
      } else {
        std::vector<Program> programs;
        programs.push_back(std::move(program));
        head_start.order_more(std::move(programs));
      }
    }
  }
}

std::jthread order_ahead(const TuningSetup& setup, HeadStart& head_start, std::vector<Problem> problems,
                         std::vector<Candidate> favourites) {
  return std::jthread([&setup, &head_start, problems = std::move(problems),
                       favourites = std::move(favourites)](const std::stop_token& stop) {
    try {
      for (std::size_t i = 0; i < problems.size() && !stop.stop_requested(); ++i) {
        std::vector<Program> programs = first_programs(setup, problems[i], favourites);
        i == 0 ? head_start.order(std::move(programs)) : head_start.order_more(std::move(programs));
      }
    } catch (const std::exception& error) {
      log::debug("{}", error.what());
    }
  });
}

}  // namespace mmtune
