// What a stream captures, as a graph that can be launched.
#pragma once

#include <functional>

#include "runtime/gpu/driver.h"

namespace mmtune::test {

/// The graph of what `calls` enqueues on the stream, captured in this mode.
inline GraphExec captured_graph(CUstream stream, CUstreamCaptureMode mode, const std::function<void()>& calls) {
  MMTUNE_CUDA(cuStreamBeginCapture(stream, mode));
  calls();
  CUgraph captured = nullptr;
  MMTUNE_CUDA(cuStreamEndCapture(stream, &captured));
  const Graph graph(captured);
  CUgraphExec instance = nullptr;
  MMTUNE_CUDA(cuGraphInstantiateWithFlags(&instance, graph.get(), 0));
  return GraphExec(instance);
}

}  // namespace mmtune::test
