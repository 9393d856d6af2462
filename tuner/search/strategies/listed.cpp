// Candidates from a given list, each once.
#include <algorithm>
#include <utility>

#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

constexpr std::ptrdiff_t kRound = 1024;  // the candidates of a round: many for compilers and GPU, few in memory

class Listed final : public Strategy {
 public:
  explicit Listed(std::vector<CandidateNumber> candidates) : candidates_(std::move(candidates)) {}

  std::vector<CandidateNumber> propose() override {
    const auto begin = std::exchange(next_, next_ + std::min(kRound, candidates_.end() - next_));
    return {begin, next_};
  }
  void learn(CandidateNumber, const Observation&) override {}

 private:
  std::vector<CandidateNumber> candidates_;
  std::vector<CandidateNumber>::const_iterator next_ = candidates_.begin();
};

}  // namespace

std::unique_ptr<Strategy> make_listed(std::vector<CandidateNumber> candidates) {
  return std::make_unique<Listed>(std::move(candidates));
}

}  // namespace mmtune
