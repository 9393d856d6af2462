// What a call costs on the host: no allocation once its kernel is loaded.
#include <cstdlib>
#include <new>

#include "runtime/call/route_memory.h"
#include "tests/api/fixture.h"

namespace {

thread_local int allocations = 0;

}  // namespace

// Replaced for the whole program, which only counts: both, since the address sanitizer has one of its own for each. Not
// inlined, since g++ then sees free() for what new has returned.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace mmtune {
namespace {

class Allocations : public test::ApiTest {};

TEST_F(Allocations, ThereAreNoneInACall) {
  offer(Precision::fp32);
  Library library = Library::open();
  std::vector<float> memory(1000);
  const Gemm call{
      .m = 3, .n = 4, .k = 5, .a = memory.data(), .b = memory.data(), .c = memory.data(), .batch = 2, .stride_c = 100};
  library.enqueue(call, nullptr);
  const int before = allocations;
  for (int i = 0; i < 3; ++i) library.enqueue(call, nullptr);
  EXPECT_EQ(allocations, before);
  library.gemm(call, nullptr);
  EXPECT_GT(allocations, before) << "an answer has texts";
}

TEST_F(Allocations, ThereAreNoneForAsManySizesAsAreRemembered) {
  offer_program(database(), {packed_problem(Precision::fp32, Layout::nn, 1, 1, 1), "naive", "", 1},
                std::string(test::kIdleProgram) + "1");
  Library library = Library::open();
  std::vector<float> memory(RouteMemory::kRemembered + 1);
  const auto allocations_of_a_call = [&](std::size_t m) {
    const int before = allocations;
    library.enqueue(
        {.m = static_cast<std::int64_t>(m), .n = 1, .k = 1, .a = memory.data(), .b = memory.data(), .c = memory.data()},
        nullptr);
    return allocations - before;
  };
  for (std::size_t m = 1; m <= RouteMemory::kRemembered + 1; ++m) allocations_of_a_call(m);
  EXPECT_EQ(allocations_of_a_call(1), 0);
  EXPECT_EQ(allocations_of_a_call(RouteMemory::kRemembered), 0);
  EXPECT_GT(allocations_of_a_call(RouteMemory::kRemembered + 1), 0);
}

TEST_F(Allocations, ThereAreNoneInACallThatLearns) {
  const auto size = [](std::int64_t extent) {
    return packed_problem(Precision::fp32, Layout::nn, extent, extent, extent);
  };
  offer(database(), {size(8), "naive", "UNROLL=4", 10}, 100);
  offer(database(), {size(64), "naive", "UNROLL=2", 20}, 60);
  Library library = Library::open({.learn = true});
  std::vector<float> memory(1000);
  const Gemm call{.m = 9, .n = 9, .k = 9, .a = memory.data(), .b = memory.data(), .c = memory.data()};
  library.enqueue(call, nullptr);
  const int recorded = test::fake_cuda().recorded_events;
  int allocating_calls = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const int before = allocations;
    library.enqueue(call, nullptr);
    allocating_calls += allocations != before ? 1 : 0;
    if (i % 64 == 0 && library.plan(call).why.find("learnt") != std::string::npos) break;
  }
  EXPECT_GT(test::fake_cuda().recorded_events, recorded + 20) << "calls were timed";
  EXPECT_LE(allocating_calls, 1) << "the one that ends the learning";
}

}  // namespace
}  // namespace mmtune
