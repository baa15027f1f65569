#include "base/unicode.h"

#include <gtest/gtest.h>

namespace stallhound {
namespace {

TEST(UnicodeTest, DecodesTheFirstCharacter) {
  struct Case {
    std::string_view text;
    char32_t code;
    size_t length_bytes;
  };
  const Case cases[] = {
      {"ab", 'a', 1},
      {std::string_view("\0", 1), 0, 1},
      {"\xC2\x80", 0x80, 2},
      {"\xDF\xBF", 0x7FF, 2},
      {"\xE0\xA0\x80", 0x800, 3},
      {"\xED\x9F\xBF", 0xD7FF, 3},
      {"\xEE\x80\x80", 0xE000, 3},
      {"\xF0\x90\x80\x80", 0x10000, 4},
      {"\xF4\x8F\xBF\xBF", 0x10FFFF, 4},
  };
  for (const Case& test : cases) {
    const Utf8Char c = FirstUtf8Char(test.text);
    EXPECT_TRUE(c.is_valid);
    EXPECT_EQ(c.code, test.code);
    EXPECT_EQ(c.length_bytes, test.length_bytes);
  }
}

TEST(UnicodeTest, RefusesInvalidSequencesByteByByte) {
  const std::string_view cases[] = {
      "\xFF",              // never valid
      "\xC0\xAF",          // overlong
      "\xE0\x80\x80",      // overlong
      "\xF0\x80\x80\x80",  // overlong
      "\xED\xA0\x80",      // surrogate
      "\xF4\x90\x80\x80",  // beyond U+10FFFF
      "\xE2\x82",          // cut off
      "\x80",              // continuation alone
  };
  for (const std::string_view text : cases) {
    const Utf8Char c = FirstUtf8Char(text);
    EXPECT_FALSE(c.is_valid);
    EXPECT_EQ(c.code, 0xFFFDu);
    EXPECT_EQ(c.length_bytes, 1u);
    std::string replaced;
    for (size_t i = 0; i < text.size(); ++i) replaced += "\xEF\xBF\xBD";
    EXPECT_EQ(ReplaceInvalidUtf8(text), replaced);
  }
  EXPECT_EQ(ReplaceInvalidUtf8("\xC3(\xC3\xA9"), "\xEF\xBF\xBD(\xC3\xA9");
}

TEST(UnicodeTest, KnowsWhatChangesTheDisplay) {
  for (const char32_t code :
       {0x00,   0x1B,   0x1F,   0x7F,   0x80,   0x9B,   0x9F,   0xAD,   0x61C,  0x200B,  0x200D, 0x200F,
        0x2028, 0x202A, 0x202E, 0x2060, 0x2066, 0x2069, 0xFE0F, 0xFEFF, 0xFFFE, 0x1FFFF, 0xE0041}) {
    EXPECT_TRUE(ChangesDisplay(code)) << std::hex << static_cast<uint32_t>(code);
  }
  for (const char32_t code : {0x20, 0x7E, 0xA0, 0xE9, 0x2010, 0x2027, 0x202F, 0x4E2D, 0xFFFD, 0x1F600, 0x10000}) {
    EXPECT_FALSE(ChangesDisplay(code)) << std::hex << static_cast<uint32_t>(code);
  }
}

TEST(UnicodeTest, KnowsColumns) {
  for (const char32_t code : {0x301, 0x5B0, 0x93C, 0x1161, 0x20DD, 0x1E94A}) EXPECT_EQ(ColumnsOf(code), 0);
  for (const char32_t code : {0x1100, 0x4E00, 0x9FFF, 0xAC00, 0xD7A3, 0xFF21, 0x1F600, 0x20000, 0x3FFFD}) {
    EXPECT_EQ(ColumnsOf(code), 2);
  }
  for (const char32_t code : {0x20, 0x7E, 0xE9, 0x5D0, 0x2014, 0xFF61, 0xFFFD, 0x1F321, 0x10FFFD}) {
    EXPECT_EQ(ColumnsOf(code), 1);
  }
}

}  // namespace
}  // namespace stallhound
