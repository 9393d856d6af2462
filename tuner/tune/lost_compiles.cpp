#include "tuner/tune/lost_compiles.h"

namespace mmtune {

std::optional<LostCompile> LostCompiles::given_up(const std::string& source_hash) {
  auto lost = find(source_hash);
  if (!lost) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!noted_.contains(source_hash) && is_worth_another_try(*lost, limit_ms())) return std::nullopt;
  return lost;
}

bool LostCompiles::is_tried_again(const std::string& source_hash) {
  const auto lost = find(source_hash);
  return lost && is_worth_another_try(*lost, limit_ms());
}

void LostCompiles::note(const TrialKey& key, Outcome outcome) {
  const std::lock_guard lock(mutex_);
  if (!noted_.insert(key.source_hash).second) return;
  store_.put_lost_compile({key.source_hash, preparation_.target().name, preparation_.nvrtc(), key.family, key.config,
                           outcome, 0, limit_ms(), ""});
}

std::optional<LostCompile> LostCompiles::find(const std::string& source_hash) {
  return store_.find_lost_compile(source_hash, preparation_.target().name, preparation_.nvrtc());
}

}  // namespace mmtune
