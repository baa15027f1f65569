#include "cli/elf_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace stallhound::cli {
namespace {

template <typename T>
std::optional<T> ReadAt(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::optional<std::string> TextAt(std::string_view bytes, uint64_t offset) {
  if (offset >= bytes.size()) return std::nullopt;
  const size_t end = bytes.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(bytes.substr(offset, end - offset));
}

std::vector<Elf64_Phdr> Segments(std::string_view bytes, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (int i = 0; i < header.e_phnum; ++i) {
    const auto segment = ReadAt<Elf64_Phdr>(bytes, header.e_phoff + static_cast<uint64_t>(i) * header.e_phentsize);
    if (!segment) break;
    segments.push_back(*segment);
  }
  return segments;
}

std::optional<uint64_t> FileOffset(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    const bool holds =
        segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz;
    if (holds) return address - segment.p_vaddr + segment.p_offset;
  }
  return std::nullopt;
}

std::vector<std::string> Needed(std::string_view bytes, const std::vector<Elf64_Phdr>& segments,
                                const Elf64_Phdr& dynamic) {
  std::vector<uint64_t> name_offsets;
  std::optional<uint64_t> strings;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = ReadAt<Elf64_Dyn>(bytes, dynamic.p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) name_offsets.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) strings = FileOffset(segments, entry->d_un.d_ptr);
  }
  std::vector<std::string> needed;
  for (const uint64_t offset : name_offsets) {
    const auto name = strings ? TextAt(bytes, *strings + offset) : std::nullopt;
    if (name) needed.push_back(*name);
  }
  return needed;
}

}  // namespace

std::optional<ElfFacts> ParseElf(std::string_view bytes) {
  if (bytes.size() < EI_NIDENT || bytes.substr(0, SELFMAG) != ELFMAG || bytes[EI_DATA] != ELFDATA2LSB) {
    return std::nullopt;
  }
  ElfFacts facts;
  if (bytes[EI_CLASS] == ELFCLASS32) {
    const auto header = ReadAt<Elf32_Ehdr>(bytes, 0);
    if (!header) return std::nullopt;
    facts.bits = 32;
    facts.machine = header->e_machine;
    return facts;
  }
  const auto header = ReadAt<Elf64_Ehdr>(bytes, 0);
  if (!header || bytes[EI_CLASS] != ELFCLASS64) return std::nullopt;
  facts.machine = header->e_machine;
  const std::vector<Elf64_Phdr> segments = Segments(bytes, *header);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) facts.interpreter = TextAt(bytes, segment.p_offset);
    if (segment.p_type == PT_DYNAMIC) facts.needed = Needed(bytes, segments, segment);
  }
  return facts;
}

std::string MachineName(int machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    case EM_PPC64:
      return "ppc64";
    default:
      return fmt::format("machine {}", machine);
  }
}

}  // namespace stallhound::cli
