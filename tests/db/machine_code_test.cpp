#include "db/machine_code.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace mmtune {
namespace {

struct Section {
  std::string name;
  std::string bytes;
};

void append(std::string& image, const void* data, std::size_t size) {
  image.append(static_cast<const char*>(data), size);
}

/// A minimal 64-bit ELF file: header, section table, names, contents.
std::string elf(const std::vector<Section>& sections) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> table(sections.size() + 2);
  std::uint64_t offset = sizeof(Elf64_Ehdr) + table.size() * sizeof(Elf64_Shdr);
  std::string contents;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Elf64_Shdr& header = table[i + 1];
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = SHT_PROGBITS;
    header.sh_offset = offset + contents.size();
    header.sh_size = sections[i].bytes.size();
    names += sections[i].name + '\0';
    contents += sections[i].bytes;
  }
  table.back().sh_type = SHT_STRTAB;
  table.back().sh_offset = offset + contents.size();
  table.back().sh_size = names.size();

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(table.size());
  header.e_shstrndx = static_cast<Elf64_Half>(table.size() - 1);
  std::string image;
  append(image, &header, sizeof(header));
  append(image, table.data(), table.size() * sizeof(Elf64_Shdr));
  return image + contents + names;
}

const std::vector<Section> kProgram = {
    {".text.gemm", "code"}, {".nv.info.gemm", "registers"}, {".note.nv.tkinfo", "13.0"}, {".nv.constant0.gemm", "c"}};

std::string hash_with(std::size_t section, const std::string& bytes) {
  auto sections = kProgram;
  sections[section].bytes = bytes;
  return hash_machine_code(elf(sections));
}

TEST(MachineCodeHash, CoversCodeInformationAndConstantsButNotNotes) {
  const std::string hash = hash_machine_code(elf(kProgram));
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_NE(hash_with(0, "CODE"), hash);
  EXPECT_NE(hash_with(1, "Registers"), hash);
  EXPECT_NE(hash_with(3, "d"), hash);
  EXPECT_EQ(hash_with(2, "another compiler"), hash);
}

TEST(MachineCodeHash, CoversKernelNames) {
  auto sections = kProgram;
  sections[0].name = ".text.gemv";
  EXPECT_NE(hash_machine_code(elf(sections)), hash_machine_code(elf(kProgram)));
}

TEST(MachineCodeHash, AnythingButElfIsHashedWhole) {
  EXPECT_NE(hash_machine_code("one"), hash_machine_code("two"));
  EXPECT_EQ(hash_machine_code("").size(), 32u);
}

TEST(MachineCodeHash, SurvivesTruncation) {
  const std::string image = elf(kProgram);
  const std::string whole = hash_machine_code(image);
  for (std::size_t size = 0; size < image.size(); ++size) {
    EXPECT_NE(hash_machine_code(image.substr(0, size)), whole) << size;
  }
}

TEST(MachineCodeHash, SurvivesHostileNumbers) {
  std::mt19937 random(1);
  const std::string image = elf(kProgram);
  const std::size_t headers = sizeof(Elf64_Ehdr) + 6 * sizeof(Elf64_Shdr);
  for (int round = 0; round < 20000; ++round) {
    std::string bad = image;
    const std::size_t at = random() % headers;
    const std::size_t count = std::min<std::size_t>(1 + random() % 8, bad.size() - at);
    const char byte = round % 2 == 0 ? '\xff' : static_cast<char>(random());
    bad.replace(at, count, count, byte);
    EXPECT_EQ(hash_machine_code(bad).size(), 32u);
  }
}

constexpr const char* kLog =
    "test.cu(3): warning #177-D: variable \"unused\" was declared but never referenced\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'pack' for 'sm_90a'\n"
    "ptxas info    : Function properties for pack\n"
    "ptxas         .     16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers, 16 bytes cumulative stack size\n"
    "ptxas info    : Compile time = 1.762 ms\n"
    "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
    "ptxas info    : Function properties for gemm\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 400 bytes smem, 416 bytes cmem[0]\n";

TEST(ResourceReport, ReadsEveryKernel) {
  const auto kernels = parse_resource_report(kLog);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].kernel, "pack");
  EXPECT_EQ(kernels[0].registers, 8);
  EXPECT_EQ(kernels[0].stack_bytes, 16);
  EXPECT_EQ(kernels[0].spill_bytes, 56);
  EXPECT_EQ(kernels[0].static_smem_bytes, 0);
  EXPECT_EQ(kernels[1].kernel, "gemm");
  EXPECT_EQ(kernels[1].registers, 255);
  EXPECT_EQ(kernels[1].spill_bytes, 0);
  EXPECT_EQ(kernels[1].static_smem_bytes, 400);
}

TEST(ResourceReport, HugeNumbersAreCut) {
  const auto kernels = parse_resource_report(
      "Compiling entry function 'gemm' for 'sm_90a'\n"
      "0 bytes stack frame, 2147483647 bytes spill stores, 99999999999999999999 bytes spill loads\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_GT(kernels[0].spill_bytes, 1'000'000);
}

TEST(ResourceReport, IsEmptyForOtherText) {
  EXPECT_TRUE(parse_resource_report("").empty());
  EXPECT_TRUE(parse_resource_report("Used 8 registers\nerror\n").empty());
}

}  // namespace
}  // namespace mmtune
