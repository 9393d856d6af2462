// Candidates from a given list, each once.
#include <utility>

#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

class Listed final : public Strategy {
 public:
  explicit Listed(std::vector<CandidateNumber> candidates) : candidates_(std::move(candidates)) {}

  std::vector<CandidateNumber> propose() override { return std::exchange(candidates_, {}); }
  void learn(CandidateNumber, const Observation&) override {}

 private:
  std::vector<CandidateNumber> candidates_;
};

}  // namespace

std::unique_ptr<Strategy> make_listed(std::vector<CandidateNumber> candidates) {
  return std::make_unique<Listed>(std::move(candidates));
}

}  // namespace mmtune
