// Candidates from a given list, each once.
#include <numeric>
#include <utility>

#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

class Listed final : public Strategy {
 public:
  explicit Listed(std::size_t count) : candidates_(count) {
    std::iota(candidates_.begin(), candidates_.end(), CandidateNumber{0});
  }

  std::vector<CandidateNumber> propose() override { return std::exchange(candidates_, {}); }
  void learn(CandidateNumber, const Observation&) override {}

 private:
  std::vector<CandidateNumber> candidates_;
};

}  // namespace

std::unique_ptr<Strategy> make_listed(std::size_t count) { return std::make_unique<Listed>(count); }

}  // namespace mmtune
