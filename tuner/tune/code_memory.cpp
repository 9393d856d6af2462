#include "tuner/tune/code_memory.h"

namespace mmtune {

void CodeMemory::keep(const std::string& source_hash, const Binary& binary) {
  const std::lock_guard lock(mutex_);
  if (!programs_.emplace(source_hash, binary).second) return;
  in_order_.push_back(source_hash);
  bytes_ += binary.cubin.size();
  while (bytes_ > kMostBytes) {
    const auto oldest = programs_.find(in_order_.front());
    bytes_ -= oldest->second.cubin.size();
    programs_.erase(oldest);
    in_order_.pop_front();
  }
}

std::optional<Binary> CodeMemory::find(const std::string& source_hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find(source_hash);
  return found == programs_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace mmtune
