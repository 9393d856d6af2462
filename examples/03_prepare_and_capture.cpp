// Three products as one CUDA graph. While a stream is captured nothing may be loaded or allocated, so prepare() does
// that before.
#include <mmtune/mmtune.h>

#include "example.h"

namespace {

/// Captures the calls on the stream and replays them once.
void run_as_graph(mmtune::Library& library, std::span<const mmtune::Gemm> calls, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  example::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (const mmtune::Gemm& call : calls) library.gemm(call, stream);
  example::check(cudaStreamEndCapture(stream, &graph));
  example::check(cudaGraphInstantiateWithFlags(&executable, graph, 0));
  example::check(cudaGraphLaunch(executable, stream));
  example::check(cudaStreamSynchronize(stream));
  example::check(cudaGraphExecDestroy(executable));
  example::check(cudaGraphDestroy(graph));
}

}  // namespace

int main() try {
  example::require_gpu();
  constexpr int m = 129, n = 65, k = 33;
  const example::Matrix a(m, k), b(k, n), c1(m, n), c2(m, n), c3(m, n);
  const mmtune::Gemm product{.m = m, .n = n, .k = k, .a = a.data(), .b = b.data(), .c = c1.data()};
  mmtune::Gemm scaled = product, added = product;
  scaled.alpha = 0.5;
  scaled.c = c2.data();
  added.beta = -1;
  added.c = c3.data();
  const mmtune::Gemm calls[] = {product, scaled, added};

  cudaStream_t stream = nullptr;
  example::check(cudaStreamCreate(&stream));
  {
    mmtune::Library library = mmtune::Library::open();
    library.prepare(calls, stream);
    run_as_graph(library, calls, stream);
  }
  example::check(cudaStreamDestroy(stream));
  return example::verify(a, b, c1, m, n, k, 1, 0) + example::verify(a, b, c2, m, n, k, 0.5, 0) +
         example::verify(a, b, c3, m, n, k, 1, -1);
} catch (const mmtune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
