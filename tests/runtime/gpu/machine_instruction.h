// What tests read of machine code.
#pragma once

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

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

/// The instructions of a kernel of an image that NVRTC made, in the order of their addresses; none if it has no such
/// kernel.
inline std::vector<MachineInstruction> machine_instructions(const std::string& cubin, const std::string& kernel) {
  Elf64_Ehdr file;
  std::memcpy(&file, cubin.data(), sizeof(file));
  std::vector<Elf64_Shdr> sections(file.e_shnum);
  std::memcpy(sections.data(), cubin.data() + file.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  const char* const names = cubin.data() + sections.at(file.e_shstrndx).sh_offset;
  for (const Elf64_Shdr& section : sections) {
    if (names + section.sh_name != ".text." + kernel) continue;
    std::vector<MachineInstruction> instructions(section.sh_size / sizeof(MachineInstruction));
    std::memcpy(instructions.data(), cubin.data() + section.sh_offset, section.sh_size);
    return instructions;
  }
  return {};
}

}  // namespace mmtune::test
