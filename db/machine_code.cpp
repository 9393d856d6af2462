#include "db/machine_code.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "templates/base/hash.h"
#include "templates/base/letters.h"

namespace mmtune {
namespace {

/// The bytes [offset, offset + size) of an image, or nothing where it is shorter. Untrusted numbers: no sum may wrap.
std::optional<std::string_view> slice(std::string_view image, std::uint64_t offset, std::uint64_t size) {
  if (offset > image.size() || size > image.size() - offset) return std::nullopt;
  return image.substr(offset, size);
}

/// Copies a structure out, because the image need not be aligned.
template <class T>
std::optional<T> read_at(std::string_view image, std::uint64_t offset) {
  const auto bytes = slice(image, offset, sizeof(T));
  if (!bytes) return std::nullopt;
  T value;
  std::memcpy(&value, bytes->data(), sizeof(T));
  return value;
}

/// The zero-terminated name at `offset` of a string table.
std::optional<std::string_view> name_at(std::string_view names, std::uint64_t offset) {
  if (offset >= names.size()) return std::nullopt;
  const auto end = names.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return names.substr(offset, end - offset);
}

/// A parsed ELF file: every section has its name and its bytes, which are empty where the file holds none.
struct Section {
  Elf64_Shdr header;
  std::string_view name;
  std::string_view bytes;
};

std::optional<std::vector<Section>> parse_sections(std::string_view image) {
  const auto file = read_at<Elf64_Ehdr>(image, 0);
  if (!file || std::memcmp(file->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (file->e_ident[EI_CLASS] != ELFCLASS64 || file->e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
  if (file->e_shentsize != sizeof(Elf64_Shdr) || file->e_shstrndx >= file->e_shnum) return std::nullopt;
  const auto table = slice(image, file->e_shoff, std::uint64_t{file->e_shnum} * sizeof(Elf64_Shdr));
  if (!table) return std::nullopt;

  std::vector<Section> sections(file->e_shnum);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Elf64_Shdr& header = sections[i].header;
    header = *read_at<Elf64_Shdr>(*table, i * sizeof(Elf64_Shdr));
    if (header.sh_type == SHT_NOBITS) continue;
    const auto bytes = slice(image, header.sh_offset, header.sh_size);
    if (!bytes) return std::nullopt;
    sections[i].bytes = *bytes;
  }
  const std::string_view names = sections[file->e_shstrndx].bytes;
  for (Section& section : sections) {
    const auto name = name_at(names, section.header.sh_name);
    if (!name) return std::nullopt;
    section.name = *name;
  }
  return sections;
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [text](auto prefix) { return text.starts_with(prefix); });
}

/// Launch information is a list of attributes: format, kind, and a 16-bit value that for format 4 is the size of what
/// follows. Those kinds that begin with a symbol's number are hashed without it, for it counts unused symbols too.
void hash_information(ContentHash& hash, std::string_view bytes) {
  constexpr std::string_view kWithSymbol("\x0a\x11\x12\x23\x2f");  // those of parameters, frame, stack (2), registers
  constexpr std::size_t kHeader = 4;
  constexpr char kSized = 4;
  while (bytes.size() >= kHeader) {
    const bool sized = bytes[0] == kSized;
    const bool with_symbol = sized && kWithSymbol.find(bytes[1]) != std::string_view::npos;
    const std::size_t size = kHeader + (sized ? *read_at<std::uint16_t>(bytes, 2) : 0);
    const std::string_view attribute = bytes.substr(0, size);
    hash.add(attribute.substr(0, kHeader));
    hash.add(attribute.substr(std::min(attribute.size(), with_symbol ? kHeader + sizeof(Elf64_Word) : kHeader)));
    bytes.remove_prefix(attribute.size());
  }
  hash.add(bytes);
}

/// The program's tables. The compiler keeps a copy of every named constant among the variables, used or not, although
/// it puts its value into the code: local scalars do not count.
void hash_variables(ContentHash& hash, const std::vector<Section>& sections, std::string_view symbols) {
  constexpr std::uint64_t kLargestScalar = 8;
  for (std::uint64_t at = 0; const auto symbol = read_at<Elf64_Sym>(symbols, at); at += sizeof(Elf64_Sym)) {
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx >= sections.size()) continue;
    if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL && symbol->st_size <= kLargestScalar) continue;
    const Section& section = sections[symbol->st_shndx];
    if (!section.name.starts_with(".nv.global")) continue;
    hash.add(section.name).add(std::to_string(symbol->st_size));
    hash.add(slice(section.bytes, symbol->st_value, symbol->st_size).value_or(""));
  }
}

/// Code, constants, launch information, shared memory, variables. Names of the compiler, symbols, the table of
/// variables' addresses (.nv.constant4), the call graph and debugging information do not change what runs.
std::optional<std::string> hash_sections(std::string_view image) {
  const auto sections = parse_sections(image);
  if (!sections) return std::nullopt;
  ContentHash hash;
  for (const Section& section : *sections) {
    if (section.header.sh_type == SHT_SYMTAB) {
      hash_variables(hash, *sections, section.bytes);
    } else if (section.name.starts_with(".nv.info")) {
      hash_information(hash.add(section.name), section.bytes);
    } else if (section.name != ".nv.constant4" &&
               starts_with_any(section.name, {".text.", ".nv.constant", ".nv.shared", ".rel.text", ".rela.text"})) {
      hash.add(section.name).add(std::to_string(section.header.sh_size)).add(section.bytes);
    }
  }
  return hash.hex();
}

/// The integer right before `label`: 400 of "used 0 barriers, 400 bytes smem"; 0 if the line lacks it. Cut so that two
/// of them can be added.
int number_before(const std::string& line, std::string_view label) {
  const auto end = line.find(label);
  if (end == std::string::npos || end == 0) return 0;
  auto begin = end;
  while (begin > 0 && is_digit(line[begin - 1])) --begin;
  constexpr int kMost = 1'000'000'000;
  int number = 0;
  const auto [rest, fault] = std::from_chars(line.data() + begin, line.data() + end, number);
  return fault == std::errc::result_out_of_range ? kMost : std::min(number, kMost);
}

}  // namespace

std::string hash_machine_code(const std::string& cubin) {
  if (auto hash = hash_sections(cubin)) return *hash;
  return ContentHash().add(cubin).hex();
}

std::vector<KernelResources> parse_resource_report(const std::string& log) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<KernelResources> kernels;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (const auto entry = line.find(kEntry); entry != std::string::npos) {
      const auto begin = entry + kEntry.size();
      kernels.emplace_back().kernel = line.substr(begin, line.find('\'', begin) - begin);
    } else if (!kernels.empty() && line.find(" bytes stack frame") != std::string::npos) {
      kernels.back().stack_bytes = number_before(line, " bytes stack frame");
      kernels.back().spill_bytes =
          number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    } else if (!kernels.empty() && line.find(" registers") != std::string::npos) {
      kernels.back().registers = number_before(line, " registers");
      kernels.back().static_smem_bytes = number_before(line, " bytes smem");
    }
  }
  return kernels;
}

}  // namespace mmtune
