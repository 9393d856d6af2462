// Stands in for templates/device/wgmma.cuh: the same names and meanings, on the simulated machine.
#pragma once

#include <string.h>

#include "mmtune/numeric.cuh"
#include "mmtune/tile_descriptor.cuh"
#include "tensor_core.h"

template <class Input, class, bool A_ALONG_K_, bool B_ALONG_K_>
struct Wgmma {
  static_assert(sizeof(Input) == 2 || (A_ALONG_K_ && B_ALONG_K_), "16-bit elements alone may lie along m or n");
  static constexpr int K = 32 / sizeof(Input);
  static constexpr bool A_ALONG_K = A_ALONG_K_, B_ALONG_K = B_ALONG_K_;
  using Element = Input;
};

template <class Input>
struct WgmmaFromRegisters : Wgmma<Input, Input, true, true> {};

inline void wgmma_fence() { mmtune::shim::fence_registers(); }
inline void wgmma_commit() { mmtune::shim::commit_multiplications(); }
template <int PENDING>
inline void wgmma_wait() {
  mmtune::shim::wait_multiplications(PENDING);
}

template <int REGISTERS>
inline void give_registers_back() {
  mmtune::shim::give_registers_back(REGISTERS);
}
template <int REGISTERS>
inline void take_registers() {
  mmtune::shim::take_registers(REGISTERS);
}

namespace mmtune::shim {

template <class Kind, int N, bool ADDS, class Accumulator>
Multiplication multiplication(u64 a, u64 b) {
  static_assert(N >= 8 && N <= 256 && N % 8 == 0, "columns of an instruction");
  constexpr bool FLOATS = static_cast<Accumulator>(0.5f) != Accumulator(0);
  static_assert(sizeof(Accumulator) == 4);
  const auto value = [](const void* element, void* target) {
    typename Kind::Element read;
    memcpy(&read, element, sizeof(read));
    const auto number = static_cast<Accumulator>(read_by_tensor_core(read));
    memcpy(target, &number, sizeof(number));
  };
  return {a, b, N, sizeof(typename Kind::Element), Kind::A_ALONG_K, Kind::B_ALONG_K, false, ADDS, !FLOATS, value};
}

}  // namespace mmtune::shim

template <class Kind, int N, bool ADDS, class Accumulator>
inline void multiply_tiles(Accumulator* d, u64 a, u64 b) {
  mmtune::shim::multiply_tiles(mmtune::shim::multiplication<Kind, N, ADDS, Accumulator>(a, b), d, nullptr);
}

template <class Kind, int N, bool ADDS, class Accumulator>
inline void multiply_tiles(Accumulator* d, const u32 (&a)[4], u64 b) {
  if (sizeof(typename Kind::Element) < 2) mmtune::shim::complain("elements of A in registers have 16 or 32 bits here");
  auto multiplication = mmtune::shim::multiplication<Kind, N, ADDS, Accumulator>(0, b);
  multiplication.a_in_registers = true;
  mmtune::shim::multiply_tiles(multiplication, d, a);
}

template <class T, int COUNT>
inline void hold_sums(T (&)[COUNT]) {}
