#include "tuner/cover/hold_out.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "tuner/cover/measured_kernels.h"

namespace mmtune {

namespace {

constexpr std::size_t kParts = 10;

using Product = std::tuple<Precision, Layout, std::int64_t, std::int64_t, std::int64_t>;

Product product_of(const Problem& problem) {
  return {problem.precision, problem.layout, problem.m, problem.n, problem.k};
}

/// The sizes by the part that they are in.
class Parts {
 public:
  explicit Parts(const std::vector<Entry>& winners) {
    for (const Entry& winner : winners) parts_.try_emplace(product_of(winner.problem), parts_.size() % kParts);
  }

  bool is_in(const Problem& problem, std::size_t part) const {
    const auto found = parts_.find(product_of(problem));
    return found != parts_.end() && found->second == part;
  }

 private:
  std::map<Product, std::size_t> parts_;
};

bool is_choice(const Entry& time, const Problem& problem, const Choice& choice) {
  return product_of(time.problem) == product_of(problem) && time.problem.align == choice.align &&
         time.kernel->binary_hash == choice.binary_hash && time.kernel->config == choice.config;
}

double us_of(const Entry& time, const Problem& problem, const DeviceSpec& device) {
  return limited_us(time.median_us, *time.kernel->family, time.kernel->config, problem, device);
}

}  // namespace

std::vector<HeldOut> hold_out(const DeviceSpec& device, const StoredKernels& kernels) {
  const Parts parts(kernels.winners);
  std::vector<HeldOut> held_out;
  for (std::size_t part = 0; part < kParts; ++part) {
    StoredKernels known;
    std::vector<Entry> times;  // the times at the sizes that are left out
    for (const Entry& winner : kernels.winners) {
      (parts.is_in(winner.problem, part) ? times : known.winners).push_back(winner);
    }
    const std::size_t decided = times.size();
    for (const Entry& time : kernels.times) (parts.is_in(time.problem, part) ? times : known.times).push_back(time);
    const DispatchTable table(device, std::move(known));
    for (std::size_t i = 0; i < decided; ++i) {
      const Problem& problem = times[i].problem;
      const Choice choice = table.choose(problem);
      const auto found =
          std::find_if(times.begin(), times.end(), [&](const Entry& time) { return is_choice(time, problem, choice); });
      if (found == times.end()) continue;
      held_out.push_back({problem, us_of(*found, problem, device), us_of(times[i], problem, device)});
    }
  }
  return held_out;
}

}  // namespace mmtune
