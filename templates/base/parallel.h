// Loops whose rounds do not depend on each other, on all usable cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

#include "templates/base/cores.h"

namespace mmtune {

/// Calls work(i) for all i from `first` to `end`, in any order and at the same time. Throws what one of them throws.
template <class Work>
void for_each_on_cores(std::size_t first, std::size_t end, const Work& work) {
  std::atomic<std::size_t> next = first;
  const auto work_on = [&] {
    for (std::size_t i = next++; i < end; i = next++) work(i);
  };
  const std::size_t count = std::min(static_cast<std::size_t>(usable_cores()), end - std::min(first, end));
  std::vector<std::future<void>> threads;
  for (std::size_t i = 0; i < count; ++i) threads.push_back(std::async(std::launch::async, work_on));
  for (std::future<void>& thread : threads) thread.get();
}

}  // namespace mmtune
