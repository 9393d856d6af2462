// What can be told from compiled machine code and the compiler's words about it, without running it.
#pragma once

#include <string>
#include <vector>

#include "templates/base/fields.h"
#include "templates/base/rules.h"

namespace mmtune {

/// What ptxas said of one kernel of the program.
struct KernelResources {
  std::string kernel;   ///< "gemm"
  int registers = 0;    ///< registers per thread
  int spill_bytes = 0;  ///< bytes of stores plus loads, per thread
  int stack_bytes = 0;  ///< bytes per thread
  int static_smem_bytes = 0;

  static constexpr void fields(auto&& visit) {
    visit("kernel", &KernelResources::kernel);
    visit("registers", &KernelResources::registers, rule::registers);
    visit("spill_bytes", &KernelResources::spill_bytes, rule::not_negative);
    visit("stack_bytes", &KernelResources::stack_bytes, rule::not_negative);
    visit("static_smem_bytes", &KernelResources::static_smem_bytes, rule::not_negative);
  }
};
static_assert(kListsAllMembers<KernelResources>);

/// Reads "Used 32 registers, …" and its neighbours from the log of --ptxas-options=-v.
std::vector<KernelResources> parse_resource_report(const std::string& log);

/// Hashes what decides what a cubin does: code, constants, variables, shared memory, per-kernel information; not notes,
/// nor the copies of named constants that the compiler keeps whether they are used or not. Sources that differ only in
/// comments and unused constants hash alike. Returns the hash of all bytes if the image is no well-formed 64-bit ELF
/// file.
std::string hash_machine_code(const std::string& cubin);

}  // namespace mmtune
