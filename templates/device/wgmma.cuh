// Warpgroup matrix multiply-accumulate (sm_90a): four warps multiply tiles of A and B that lie in shared memory and add
// the products to sums in their registers, asynchronously. PTX ISA, Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Instructions.
//
// Sums of a 64 x N tile: thread t of the warpgroup, lane = t % 32, has for every group j < N / 8 of columns
//
//     d[4 j + 2 h + c]  =  tile[16 (t / 32) + lane / 4 + 8 h][8 j + 2 (lane % 4) + c],    h, c in {0, 1}
#pragma once

#include "mmtune/numeric.cuh"
#include "mmtune/tile_descriptor.cuh"

// What the instruction's name says of the operands, its steps along k, and the constants behind its operands: the signs
// of A and B, and whether they are contiguous along m or n instead of k, as 16-bit ones may be.
template <class InputA, class InputB, bool A_ALONG_K, bool B_ALONG_K>
struct Wgmma;
template <>
struct Wgmma<half_t, half_t, true, true> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.f16.f16";
  static constexpr char CONSTANTS[] = ", 1, 1, 0, 0;";
};
template <>
struct Wgmma<half_t, half_t, true, false> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.f16.f16";
  static constexpr char CONSTANTS[] = ", 1, 1, 0, 1;";
};
template <>
struct Wgmma<half_t, half_t, false, true> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.f16.f16";
  static constexpr char CONSTANTS[] = ", 1, 1, 1, 0;";
};
template <>
struct Wgmma<half_t, half_t, false, false> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.f16.f16";
  static constexpr char CONSTANTS[] = ", 1, 1, 1, 1;";
};
template <>
struct Wgmma<bfloat_t, bfloat_t, true, true> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.bf16.bf16";
  static constexpr char CONSTANTS[] = ", 1, 1, 0, 0;";
};
template <>
struct Wgmma<bfloat_t, bfloat_t, true, false> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.bf16.bf16";
  static constexpr char CONSTANTS[] = ", 1, 1, 0, 1;";
};
template <>
struct Wgmma<bfloat_t, bfloat_t, false, true> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.bf16.bf16";
  static constexpr char CONSTANTS[] = ", 1, 1, 1, 0;";
};
template <>
struct Wgmma<bfloat_t, bfloat_t, false, false> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.bf16.bf16";
  static constexpr char CONSTANTS[] = ", 1, 1, 1, 1;";
};
// Others are contiguous along k. fp32 must have been rounded to what tensor cores read of it.
template <>
struct Wgmma<float, float, true, true> {
  static constexpr int K = 8;
  static constexpr char OPERANDS[] = "k8.f32.tf32.tf32";
  static constexpr char CONSTANTS[] = ", 1, 1;";
};
template <>
struct Wgmma<e4m3_t, e4m3_t, true, true> {
  static constexpr int K = 32;
  static constexpr char OPERANDS[] = "k32.f32.e4m3.e4m3";
  static constexpr char CONSTANTS[] = ", 1, 1;";
};
template <>
struct Wgmma<e5m2_t, e5m2_t, true, true> {
  static constexpr int K = 32;
  static constexpr char OPERANDS[] = "k32.f32.e5m2.e5m2";
  static constexpr char CONSTANTS[] = ", 1, 1;";
};
template <>
struct Wgmma<signed char, signed char, true, true> {
  static constexpr int K = 32;
  static constexpr char OPERANDS[] = "k32.s32.s8.s8";
  static constexpr char CONSTANTS[] = ";";
};

// The same with 16-bit rows of A from registers, and B along k.
template <class Input>
struct WgmmaFromRegisters;
template <>
struct WgmmaFromRegisters<half_t> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.f16.f16";
  static constexpr char CONSTANTS[] = ", 1, 1, 0;";
};
template <>
struct WgmmaFromRegisters<bfloat_t> {
  static constexpr int K = 16;
  static constexpr char OPERANDS[] = "k16.f32.bf16.bf16";
  static constexpr char CONSTANTS[] = ", 1, 1, 0;";
};

// Orders what this warpgroup did with registers and shared memory before the multiplications that follow.
// PTX ISA: wgmma.fence.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Closes a group of multiplications. PTX ISA: wgmma.commit_group.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most PENDING of the latest groups are unfinished. PTX ISA: wgmma.wait_group.
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Changes how many registers each thread of the warpgroup has. PTX ISA: setmaxnreg.
template <int REGISTERS>
__device__ __forceinline__ void give_registers_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// The instruction wants every register by its name, so each N has its text. Operands of the assembly are numbered:
// first the sums, then the four inputs.
// clang-format off
#define MMTUNE_D4(c, i) c(d[i]), c(d[(i) + 1]), c(d[(i) + 2]), c(d[(i) + 3])
#define MMTUNE_D8(c, i) MMTUNE_D4(c, i), MMTUNE_D4(c, (i) + 4)
#define MMTUNE_D16(c, i) MMTUNE_D8(c, i), MMTUNE_D8(c, (i) + 8)
#define MMTUNE_D32(c, i) MMTUNE_D16(c, i), MMTUNE_D16(c, (i) + 16)
#define MMTUNE_D64(c, i) MMTUNE_D32(c, i), MMTUNE_D32(c, (i) + 32)
#define MMTUNE_D128(c, i) MMTUNE_D64(c, i), MMTUNE_D64(c, (i) + 64)
#define MMTUNE_R4 "%0, %1, %2, %3"
#define MMTUNE_R8 MMTUNE_R4 ", %4, %5, %6, %7"
#define MMTUNE_R12 MMTUNE_R8 ", %8, %9, %10, %11"
#define MMTUNE_R16 MMTUNE_R12 ", %12, %13, %14, %15"
#define MMTUNE_R20 MMTUNE_R16 ", %16, %17, %18, %19"
#define MMTUNE_R24 MMTUNE_R16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define MMTUNE_R28 MMTUNE_R24 ", %24, %25, %26, %27"
#define MMTUNE_R32 MMTUNE_R24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define MMTUNE_R36 MMTUNE_R32 ", %32, %33, %34, %35"
#define MMTUNE_R40 MMTUNE_R32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define MMTUNE_R44 MMTUNE_R40 ", %40, %41, %42, %43"
#define MMTUNE_R48 MMTUNE_R40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define MMTUNE_R52 MMTUNE_R48 ", %48, %49, %50, %51"
#define MMTUNE_R56 MMTUNE_R48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define MMTUNE_R60 MMTUNE_R56 ", %56, %57, %58, %59"
#define MMTUNE_R64 MMTUNE_R56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define MMTUNE_R68 MMTUNE_R64 ", %64, %65, %66, %67"
#define MMTUNE_R72 MMTUNE_R64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define MMTUNE_R76 MMTUNE_R72 ", %72, %73, %74, %75"
#define MMTUNE_R80 MMTUNE_R72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define MMTUNE_R84 MMTUNE_R80 ", %80, %81, %82, %83"
#define MMTUNE_R88 MMTUNE_R80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define MMTUNE_R92 MMTUNE_R88 ", %88, %89, %90, %91"
#define MMTUNE_R96 MMTUNE_R88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define MMTUNE_R100 MMTUNE_R96 ", %96, %97, %98, %99"
#define MMTUNE_R104 MMTUNE_R96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define MMTUNE_R108 MMTUNE_R104 ", %104, %105, %106, %107"
#define MMTUNE_R112 MMTUNE_R104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define MMTUNE_R116 MMTUNE_R112 ", %112, %113, %114, %115"
#define MMTUNE_R120 MMTUNE_R112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define MMTUNE_R128 MMTUNE_R120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define MMTUNE_S4(c) MMTUNE_D4(c, 0)
#define MMTUNE_S8(c) MMTUNE_D8(c, 0)
#define MMTUNE_S12(c) MMTUNE_D8(c, 0), MMTUNE_D4(c, 8)
#define MMTUNE_S16(c) MMTUNE_D16(c, 0)
#define MMTUNE_S20(c) MMTUNE_D16(c, 0), MMTUNE_D4(c, 16)
#define MMTUNE_S24(c) MMTUNE_D16(c, 0), MMTUNE_D8(c, 16)
#define MMTUNE_S28(c) MMTUNE_D16(c, 0), MMTUNE_D8(c, 16), MMTUNE_D4(c, 24)
#define MMTUNE_S32(c) MMTUNE_D32(c, 0)
#define MMTUNE_S36(c) MMTUNE_D32(c, 0), MMTUNE_D4(c, 32)
#define MMTUNE_S40(c) MMTUNE_D32(c, 0), MMTUNE_D8(c, 32)
#define MMTUNE_S44(c) MMTUNE_D32(c, 0), MMTUNE_D8(c, 32), MMTUNE_D4(c, 40)
#define MMTUNE_S48(c) MMTUNE_D32(c, 0), MMTUNE_D16(c, 32)
#define MMTUNE_S52(c) MMTUNE_D32(c, 0), MMTUNE_D16(c, 32), MMTUNE_D4(c, 48)
#define MMTUNE_S56(c) MMTUNE_D32(c, 0), MMTUNE_D16(c, 32), MMTUNE_D8(c, 48)
#define MMTUNE_S60(c) MMTUNE_D32(c, 0), MMTUNE_D16(c, 32), MMTUNE_D8(c, 48), MMTUNE_D4(c, 56)
#define MMTUNE_S64(c) MMTUNE_D64(c, 0)
#define MMTUNE_S68(c) MMTUNE_D64(c, 0), MMTUNE_D4(c, 64)
#define MMTUNE_S72(c) MMTUNE_D64(c, 0), MMTUNE_D8(c, 64)
#define MMTUNE_S76(c) MMTUNE_D64(c, 0), MMTUNE_D8(c, 64), MMTUNE_D4(c, 72)
#define MMTUNE_S80(c) MMTUNE_D64(c, 0), MMTUNE_D16(c, 64)
#define MMTUNE_S84(c) MMTUNE_D64(c, 0), MMTUNE_D16(c, 64), MMTUNE_D4(c, 80)
#define MMTUNE_S88(c) MMTUNE_D64(c, 0), MMTUNE_D16(c, 64), MMTUNE_D8(c, 80)
#define MMTUNE_S92(c) MMTUNE_D64(c, 0), MMTUNE_D16(c, 64), MMTUNE_D8(c, 80), MMTUNE_D4(c, 88)
#define MMTUNE_S96(c) MMTUNE_D64(c, 0), MMTUNE_D32(c, 64)
#define MMTUNE_S100(c) MMTUNE_D64(c, 0), MMTUNE_D32(c, 64), MMTUNE_D4(c, 96)
#define MMTUNE_S104(c) MMTUNE_D64(c, 0), MMTUNE_D32(c, 64), MMTUNE_D8(c, 96)
#define MMTUNE_S108(c) MMTUNE_D64(c, 0), MMTUNE_D32(c, 64), MMTUNE_D8(c, 96), MMTUNE_D4(c, 104)
#define MMTUNE_S112(c) MMTUNE_D64(c, 0), MMTUNE_D32(c, 64), MMTUNE_D16(c, 96)
#define MMTUNE_S116(c) MMTUNE_D64(c, 0), MMTUNE_D32(c, 64), MMTUNE_D16(c, 96), MMTUNE_D4(c, 112)
#define MMTUNE_S120(c) MMTUNE_D64(c, 0), MMTUNE_D32(c, 64), MMTUNE_D16(c, 96), MMTUNE_D8(c, 112)
#define MMTUNE_S128(c) MMTUNE_D128(c, 0)

// Every N with its sums and the numbers of the operands behind them.
#define MMTUNE_SHAPES(X)                                                                           \
  X(8, MMTUNE_S4, MMTUNE_R4, "%4", "%5", "%6", "%7", "%8", "%9", "%10", "%11")                     \
  X(16, MMTUNE_S8, MMTUNE_R8, "%8", "%9", "%10", "%11", "%12", "%13", "%14", "%15")                \
  X(24, MMTUNE_S12, MMTUNE_R12, "%12", "%13", "%14", "%15", "%16", "%17", "%18", "%19")            \
  X(32, MMTUNE_S16, MMTUNE_R16, "%16", "%17", "%18", "%19", "%20", "%21", "%22", "%23")            \
  X(40, MMTUNE_S20, MMTUNE_R20, "%20", "%21", "%22", "%23", "%24", "%25", "%26", "%27")            \
  X(48, MMTUNE_S24, MMTUNE_R24, "%24", "%25", "%26", "%27", "%28", "%29", "%30", "%31")            \
  X(56, MMTUNE_S28, MMTUNE_R28, "%28", "%29", "%30", "%31", "%32", "%33", "%34", "%35")            \
  X(64, MMTUNE_S32, MMTUNE_R32, "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39")            \
  X(72, MMTUNE_S36, MMTUNE_R36, "%36", "%37", "%38", "%39", "%40", "%41", "%42", "%43")            \
  X(80, MMTUNE_S40, MMTUNE_R40, "%40", "%41", "%42", "%43", "%44", "%45", "%46", "%47")            \
  X(88, MMTUNE_S44, MMTUNE_R44, "%44", "%45", "%46", "%47", "%48", "%49", "%50", "%51")            \
  X(96, MMTUNE_S48, MMTUNE_R48, "%48", "%49", "%50", "%51", "%52", "%53", "%54", "%55")            \
  X(104, MMTUNE_S52, MMTUNE_R52, "%52", "%53", "%54", "%55", "%56", "%57", "%58", "%59")           \
  X(112, MMTUNE_S56, MMTUNE_R56, "%56", "%57", "%58", "%59", "%60", "%61", "%62", "%63")           \
  X(120, MMTUNE_S60, MMTUNE_R60, "%60", "%61", "%62", "%63", "%64", "%65", "%66", "%67")           \
  X(128, MMTUNE_S64, MMTUNE_R64, "%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71")           \
  X(136, MMTUNE_S68, MMTUNE_R68, "%68", "%69", "%70", "%71", "%72", "%73", "%74", "%75")           \
  X(144, MMTUNE_S72, MMTUNE_R72, "%72", "%73", "%74", "%75", "%76", "%77", "%78", "%79")           \
  X(152, MMTUNE_S76, MMTUNE_R76, "%76", "%77", "%78", "%79", "%80", "%81", "%82", "%83")           \
  X(160, MMTUNE_S80, MMTUNE_R80, "%80", "%81", "%82", "%83", "%84", "%85", "%86", "%87")           \
  X(168, MMTUNE_S84, MMTUNE_R84, "%84", "%85", "%86", "%87", "%88", "%89", "%90", "%91")           \
  X(176, MMTUNE_S88, MMTUNE_R88, "%88", "%89", "%90", "%91", "%92", "%93", "%94", "%95")           \
  X(184, MMTUNE_S92, MMTUNE_R92, "%92", "%93", "%94", "%95", "%96", "%97", "%98", "%99")           \
  X(192, MMTUNE_S96, MMTUNE_R96, "%96", "%97", "%98", "%99", "%100", "%101", "%102", "%103")       \
  X(200, MMTUNE_S100, MMTUNE_R100, "%100", "%101", "%102", "%103", "%104", "%105", "%106", "%107") \
  X(208, MMTUNE_S104, MMTUNE_R104, "%104", "%105", "%106", "%107", "%108", "%109", "%110", "%111") \
  X(216, MMTUNE_S108, MMTUNE_R108, "%108", "%109", "%110", "%111", "%112", "%113", "%114", "%115") \
  X(224, MMTUNE_S112, MMTUNE_R112, "%112", "%113", "%114", "%115", "%116", "%117", "%118", "%119") \
  X(232, MMTUNE_S116, MMTUNE_R116, "%116", "%117", "%118", "%119", "%120", "%121", "%122", "%123") \
  X(240, MMTUNE_S120, MMTUNE_R120, "%120", "%121", "%122", "%123", "%124", "%125", "%126", "%127") \
  X(256, MMTUNE_S128, MMTUNE_R128, "%128", "%129", "%130", "%131", "%132", "%133", "%134", "%135")

#define MMTUNE_WGMMA(COLUMNS, SUMS, REGISTERS, A, B, OPERANDS_, CONSTANTS_, ADDS_, ...)                              \
  asm volatile("{ .reg .pred adds; setp.ne.u32 adds, " ADDS_ ", 0; wgmma.mma_async.sync.aligned.m64n" #COLUMNS       \
               OPERANDS_ " {" REGISTERS "}, " A ", " B ", adds" CONSTANTS_ " }"                                      \
               : SUMS : __VA_ARGS__, "l"(b), "C"(Kind::OPERANDS), "C"(Kind::CONSTANTS), "n"(ADDS))

#define MMTUNE_SHARED(COLUMNS, SUMS, REGISTERS, O0, O1, O2, O3, O4, O5, O6, O7)                                      \
  if constexpr (N == COLUMNS && FLOATS) {                                                                            \
    MMTUNE_WGMMA(COLUMNS, SUMS("+f"), REGISTERS, O0, O1, O2, O3, O4, "l"(a));                                        \
  } else if constexpr (N == COLUMNS) {                                                                               \
    MMTUNE_WGMMA(COLUMNS, SUMS("+r"), REGISTERS, O0, O1, O2, O3, O4, "l"(a));                                        \
  }
#define MMTUNE_REGISTERS(COLUMNS, SUMS, REGISTERS, O0, O1, O2, O3, O4, O5, O6, O7)                                   \
  if constexpr (N == COLUMNS && FLOATS) {                                                                            \
    MMTUNE_WGMMA(COLUMNS, SUMS("+f"), REGISTERS, "{" O0 ", " O1 ", " O2 ", " O3 "}", O4, O5, O6, O7, "r"(a[0]),      \
                 "r"(a[1]), "r"(a[2]), "r"(a[3]));                                                                   \
  }

// Without a text for N nothing would be multiplied.
#define MMTUNE_IS_N(COLUMNS, ...) N == COLUMNS ||
#define MMTUNE_CHECK_N static_assert(MMTUNE_SHAPES(MMTUNE_IS_N) false, "an instruction of N columns has its text")

// d += tile of A * tile of B: one instruction of N columns and Kind::K steps along k, for a Kind of Wgmma; without ADDS,
// d is set. PTX ISA: wgmma.mma_async.
template <class Kind, int N, bool ADDS, class Accumulator>
__device__ __forceinline__ void multiply_tiles(Accumulator* d, u64 a, u64 b) {
  constexpr bool FLOATS = static_cast<Accumulator>(0.5f) != Accumulator(0);
  MMTUNE_CHECK_N;
  MMTUNE_SHAPES(MMTUNE_SHARED)
}

// The same with A from registers: thread t of the warpgroup has elements lane % 4 (at[0] and at[1]) and lane % 4 + 4
// along k of rows 16 (t / 32) + lane / 4 and, at[1] and at[3], that + 8; for elements of 32 bits, and for pairs of 16.
template <class Kind, int N, bool ADDS, class Accumulator>
__device__ __forceinline__ void multiply_tiles(Accumulator* d, const u32 (&a)[4], u64 b) {
  constexpr bool FLOATS = static_cast<Accumulator>(0.5f) != Accumulator(0);
  MMTUNE_CHECK_N;
  MMTUNE_SHAPES(MMTUNE_REGISTERS)
}
// clang-format on

// Keeps the compiler from reading the sums of an unfinished multiplication: to be called after wgmma_wait().
template <int COUNT>
__device__ __forceinline__ void hold_sums(float (&sums)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int COUNT>
__device__ __forceinline__ void hold_sums(u32 (&sums)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}

#undef MMTUNE_REGISTERS
#undef MMTUNE_CHECK_N
#undef MMTUNE_IS_N
#undef MMTUNE_SHARED
#undef MMTUNE_SHAPES
#undef MMTUNE_WGMMA
