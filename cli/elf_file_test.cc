#include "cli/elf_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace stallhound::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(ElfFileTest, ReadsThisProgram) {
  const absl::StatusOr<std::string> self = ReadFile("/proc/self/exe");
  ASSERT_TRUE(self.ok());
  const std::optional<ElfFacts> facts = ParseElf(*self);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->bits, 64);
  EXPECT_NE(MachineName(facts->machine), "machine 0");
  ASSERT_TRUE(facts->interpreter);
  EXPECT_THAT(*facts->interpreter, HasSubstr("ld-linux"));
  EXPECT_THAT(facts->needed, Contains("libc.so.6"));
}

TEST(ElfFileTest, SurvivesEveryCutAndFlip) {
  const std::string whole = ReadFile("/proc/self/exe")->substr(0, 8192);
  for (size_t length = 0; length < 1024; ++length) ParseElf(std::string_view(whole).substr(0, length));
  for (size_t at = 16; at < 1024; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(0xff);
    ParseElf(damaged);
  }
}

TEST(ElfFileTest, KnowsWhatIsNoElf) {
  EXPECT_FALSE(ParseElf(""));
  EXPECT_FALSE(ParseElf("#!/bin/sh\n"));
  EXPECT_FALSE(ParseElf(std::string("\x7f") + "ELF"));
}

TEST(ElfFileTest, Reads32Bits) {
  Elf32_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_386;
  const auto facts = ParseElf({reinterpret_cast<const char*>(&header), sizeof(header)});
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->bits, 32);
  EXPECT_EQ(MachineName(facts->machine), "i386");
}

}  // namespace
}  // namespace stallhound::cli
