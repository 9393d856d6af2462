// Instructions for the four bytes of a word.
#pragma once

#include "mmtune/numeric.cuh"

// Four of e4m3, the lowest first; exact. PTX ISA, Data Movement and Conversion Instructions: cvt.rn.f16x2.e4m3x2. Needs
// sm_89.
__device__ __forceinline__ void widen_e4m3(float (&values)[4], u32 word) {
  asm("{ .reg .b16 low, high, first, second, third, fourth; .reg .b32 pair;\n"
      "mov.b32 {low, high}, %4;\n"
      "cvt.rn.f16x2.e4m3x2 pair, low; mov.b32 {first, second}, pair; cvt.f32.f16 %0, first; cvt.f32.f16 %1, second;\n"
      "cvt.rn.f16x2.e4m3x2 pair, high; mov.b32 {third, fourth}, pair; cvt.f32.f16 %2, third; cvt.f32.f16 %3, fourth; }"
      : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
      : "r"(word));
}

// sum += the products of four signed bytes each, modulo 2^32. PTX ISA, Integer Arithmetic Instructions: dp4a. Needs
// sm_61.
__device__ __forceinline__ void add_products_of_bytes(u32& sum, u32 x, u32 y) {
  asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(y));
}
