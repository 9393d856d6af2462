#include "tuner/tune/deadlines.h"

#include <algorithm>

namespace mmtune {

Deadlines::Clock::time_point Deadlines::next(Clock::time_point now, std::size_t problems, std::size_t lanes) const {
  const auto share =
      (end_ - now) / static_cast<std::int64_t>(problems) * static_cast<std::int64_t>(std::min(lanes, problems));
  const auto overtime = problems_ended_ > 0 ? overtime_ / problems_ended_ : Clock::duration{};
  return now + std::max(Clock::duration{}, share - overtime);
}

void Deadlines::ended(Clock::time_point deadline, Clock::time_point now) {
  overtime_ += std::max(Clock::duration{}, now - deadline);
  ++problems_ended_;
}

}  // namespace mmtune
