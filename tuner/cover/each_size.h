// What a cover computes for each of its sizes, on all cores: on one the GPU would wait for seconds.
#pragma once

#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

#include "templates/base/cores.h"

namespace mmtune {

/// Calls work(size) for all sizes from `first` to `end`, in any order and at the same time. Throws what one of them
/// throws.
template <class Work>
void for_each_size(std::size_t first, std::size_t end, const Work& work) {
  std::atomic<std::size_t> next = first;
  const auto work_on = [&] {
    for (std::size_t size = next++; size < end; size = next++) work(size);
  };
  std::vector<std::future<void>> threads;
  for (int i = 0; i < usable_cores(); ++i) threads.push_back(std::async(std::launch::async, work_on));
  for (std::future<void>& thread : threads) thread.get();
}

}  // namespace mmtune
