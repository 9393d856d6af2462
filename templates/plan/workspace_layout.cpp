#include "templates/plan/workspace_layout.h"

namespace mmtune {

Arg WorkspaceLayout::add(std::string_view name, std::int64_t bytes, std::int64_t alignment) {
  const std::int64_t offset = (bytes_ + alignment - 1) / alignment * alignment;
  if (bytes > 0) bytes_ = offset + bytes;
  slices_.push_back({name, bytes, alignment, offset});
  return Arg::slice(slices_.size() - 1);
}

}  // namespace mmtune
