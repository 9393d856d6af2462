// Candidates from a given list, each once.
#include <utility>

#include "tuner/search/strategy.h"

namespace mmtune {
namespace {

class Listed final : public Strategy {
 public:
  explicit Listed(std::vector<Candidate> candidates) : candidates_(std::move(candidates)) {}

  std::vector<Candidate> propose() override { return std::exchange(candidates_, {}); }
  void learn(const Candidate&, const Trial&) override {}

 private:
  std::vector<Candidate> candidates_;
};

}  // namespace

std::unique_ptr<Strategy> make_listed(std::vector<Candidate> candidates) {
  return std::make_unique<Listed>(std::move(candidates));
}

}  // namespace mmtune
