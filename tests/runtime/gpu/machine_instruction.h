// What tests read of machine code.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "db/machine_code.h"

namespace mmtune::test {

/// A machine instruction from compute capability 7.0 on, as two words. NVIDIA publishes no encoding: the fields are
/// those that github.com/cloudcores/CuAssembler found.
struct MachineInstruction {
  std::uint64_t low;
  std::uint64_t high;

  static std::uint64_t bits(std::uint64_t word, int first, int count) {
    return word >> first & ((std::uint64_t{1} << count) - 1);
  }
  std::uint64_t opcode() const { return bits(low, 0, 12); }
  std::array<int, 3> sources() const {
    return {static_cast<int>(bits(low, 24, 8)), static_cast<int>(bits(low, 32, 8)), static_cast<int>(bits(high, 0, 8))};
  }
  /// Whether the operand is kept for the next instruction, in the same place.
  bool keeps(int operand) const { return bits(high, 58 + operand, 1) != 0; }
};

/// Those of a kernel, in the order of their addresses.
inline std::vector<MachineInstruction> machine_instructions(const std::string& cubin, const std::string& kernel) {
  const std::string code = machine_code_of(cubin, kernel);
  std::vector<MachineInstruction> instructions(code.size() / sizeof(MachineInstruction));
  std::memcpy(instructions.data(), code.data(), instructions.size() * sizeof(MachineInstruction));
  return instructions;
}

}  // namespace mmtune::test
