#include "tuner/tune/code_memory.h"

#include <utility>

#include "tuner/tune/lessons.h"

namespace mmtune {

void CodeMemory::keep(const TrialKey& key, const Binary& binary) {
  const std::lock_guard lock(mutex_);
  if (!programs_.try_emplace(key.source_hash, Kept{key, binary}).second) return;
  in_order_.push_back(key.source_hash);
  bytes_ += binary.cubin.size();
  while (bytes_ > kMostBytes) {
    const auto oldest = programs_.find(in_order_.front());
    bytes_ -= oldest->second.binary.cubin.size();
    programs_.erase(oldest);
    in_order_.pop_front();
  }
}

std::optional<Binary> CodeMemory::find(const std::string& source_hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find(source_hash);
  return found == programs_.end() ? std::nullopt : std::optional(found->second.binary);
}

std::optional<Binary> CodeMemory::find(const std::string& source_hash, Store& store) const {
  if (auto kept = find(source_hash)) return kept;
  auto stored = store.find_compiled(source_hash, preparation_.target().name);
  return stored && stored->nvrtc == preparation_.nvrtc() ? std::move(stored) : std::nullopt;
}

bool CodeMemory::has(const Problem& problem, const Candidate& candidate) {
  const std::lock_guard lock(mutex_);
  return programs_.contains(preparation_.source_hash(problem, candidate, hashes_));
}

std::vector<Candidate> CodeMemory::candidates(const Problem& problem) const {
  const std::lock_guard lock(mutex_);
  std::vector<Candidate> candidates;
  for (const std::string& source : in_order_) {
    const TrialKey& key = programs_.at(source).key;
    if (!same_programs_serve(problem, key.problem)) continue;
    if (auto candidate = candidate_of(key)) candidates.push_back(*std::move(candidate));
  }
  return candidates;
}

}  // namespace mmtune
