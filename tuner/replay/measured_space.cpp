#include "tuner/replay/measured_space.h"

#include <algorithm>
#include <utility>

#include "templates/base/parsed_number.h"

namespace mmtune {
namespace {

constexpr std::string_view kMeasuredGroup = "measured";

/// The values that a parameter has in any candidate.
std::vector<std::string> table_of(const std::vector<MeasuredCandidate>& candidates, std::size_t parameter) {
  std::vector<std::string> table;
  for (const MeasuredCandidate& each : candidates) {
    const std::string& value = each.values[parameter];
    if (std::find(table.begin(), table.end(), value) == table.end()) table.push_back(value);
  }
  if (std::all_of(table.begin(), table.end(), parsed_number<double>)) {
    std::sort(table.begin(), table.end(), [](const std::string& x, const std::string& y) {
      return *parsed_number<double>(x) < *parsed_number<double>(y);
    });
  }
  return table;
}

}  // namespace

MeasuredSpace::MeasuredSpace(std::string name, std::vector<MeasuredCandidate> candidates) : name_(std::move(name)) {
  std::vector<std::vector<std::string>> tables;
  const std::size_t parameters = candidates.empty() ? 0 : candidates.front().values.size();
  for (std::size_t i = 0; i < parameters; ++i) {
    tables.push_back(table_of(candidates, i));
    sizes_.push_back(tables.back().size());
  }
  for (MeasuredCandidate& each : candidates) {
    Digits digits;
    for (std::size_t i = 0; i < parameters; ++i) {
      const auto at = std::find(tables[i].begin(), tables[i].end(), each.values[i]);
      digits.push_back(static_cast<std::size_t>(at - tables[i].begin()));
    }
    const auto [known, is_new] = numbers_.try_emplace(digits, static_cast<CandidateNumber>(candidates_.size()));
    if (is_new) {
      candidates_.push_back(std::move(each));
      digits_.push_back(std::move(digits));
    } else {
      candidates_[static_cast<std::size_t>(known->second)] = std::move(each);
    }
  }
}

const MeasuredCandidate& MeasuredSpace::candidate(CandidateNumber number) const {
  return candidates_[static_cast<std::size_t>(number)];
}

double MeasuredSpace::best_us() const {
  double best = 0;
  for (const auto& [values, observation] : candidates_) {
    if (observation.kind == Observation::Kind::timed && (best == 0 || observation.time_us < best)) {
      best = observation.time_us;
    }
  }
  return best;
}

std::vector<RankedCandidate> MeasuredSpace::ranked(std::size_t limit) const {
  std::vector<RankedCandidate> all(std::min(limit, size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].number = static_cast<CandidateNumber>(i);
  return all;
}

std::vector<CandidateNumber> MeasuredSpace::neighbours(CandidateNumber candidate) const {
  std::vector<CandidateNumber> found;
  const auto exists = [this](const Digits& digits) { return numbers_.contains(digits); };
  for (const Digits& each : mmtune::neighbours(digits_[static_cast<std::size_t>(candidate)], sizes_, exists)) {
    found.push_back(numbers_.at(each));
  }
  return found;
}

Description MeasuredSpace::describe(CandidateNumber candidate) const {
  const Digits& digits = digits_[static_cast<std::size_t>(candidate)];
  return {{kMeasuredGroup, {digits.begin(), digits.end()}, {}}, 0};
}

}  // namespace mmtune
