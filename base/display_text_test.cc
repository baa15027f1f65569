#include "base/display_text.h"

#include <gtest/gtest.h>

namespace stallhound {
namespace {

TEST(DisplayTextTest, KeepsReadableTextOfAnyScript) {
  for (const std::string_view text : {"", "train.py:27", "void f<int>(float*)", "größe", "мир", "関数", "हिन्दी", "😀"}) {
    EXPECT_EQ(Displayable(text), text);
  }
}

TEST(DisplayTextTest, ReplacesWhatTheDisplayWouldObeyOrHide) {
  EXPECT_EQ(Displayable("\x1b[2J\x1b]0;title\x07"), "�[2J�]0;title�");
  EXPECT_EQ(Displayable(std::string_view("a\0b\x7f", 4)), "a�b�");
  EXPECT_EQ(Displayable("\u009b31m"), "�31m");
  EXPECT_EQ(Displayable("a\u202eb\u2066c\u200bd\ufeff"), "a�b�c�d�");
  EXPECT_EQ(Displayable("\xff\xc3("), "��(");
  EXPECT_EQ(Displayable("one\ntwo\tthree\r\n"), "one two three  ");
  EXPECT_EQ(Displayable("one\u2028two\u0085"), "one�two�");
}

TEST(DisplayTextTest, LimitsMarksOnACharacter) {
  std::string piled = "a";
  for (int i = 0; i < 100; ++i) piled += "\u0301";
  EXPECT_EQ(Displayable(piled + "b\u0301"), "a\u0301\u0301\u0301\u0301b\u0301");
}

TEST(DisplayTextTest, AppliedAgainChangesNothing) {
  uint32_t random = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      random = random * 1664525u + 1013904223u;
      // Marks, variation selectors and invalid bytes meet often.
      const char* const pieces[] = {"a", "\u0301", "\ufe0f", "\xcc", "\x81", "関", "\n", "\u200d"};
      text += pieces[random >> 29];
    }
    const std::string once = Displayable(text);
    EXPECT_EQ(Displayable(once), once);
  }
}

TEST(DisplayTextTest, CountsColumns) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("train"), 5u);
  EXPECT_EQ(DisplayWidth("größe"), 5u);
  EXPECT_EQ(DisplayWidth("関数"), 4u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);
  EXPECT_EQ(DisplayWidth("😀"), 2u);
}

TEST(DisplayTextTest, ShortensInTheMiddle) {
  EXPECT_EQ(ShortenedMiddle("short", 5), "short");
  EXPECT_EQ(ShortenedMiddle("models/attention/train.py:27", 18), "model...rain.py:27");
  EXPECT_EQ(ShortenedMiddle("abcdefgh", 7), "a...fgh");
  EXPECT_EQ(ShortenedMiddle("abcdef", 3), "...");
  EXPECT_EQ(ShortenedMiddle("abcdef", 0), "");
}

TEST(DisplayTextTest, AMessageKeepsBothEndsIn300Columns) {
  EXPECT_EQ(DisplayableMessage("oracle:\nerror 2.5 of 1"), "oracle: error 2.5 of 1");
  const std::string shortened = DisplayableMessage("begin " + std::string(5000, 'x') + " end");
  EXPECT_EQ(DisplayWidth(shortened), 300u);
  EXPECT_EQ(shortened.substr(0, 7), "begin x");
  EXPECT_EQ(shortened.substr(shortened.size() - 5), "x end");
}

TEST(DisplayTextTest, ShorteningFitsAndCutsNoCharacter) {
  const std::string texts[] = {std::string(40'000, 'k'), "関数の名前がとても長い場合にどう切るか",
                               "e\u0301o\u0308u\u0308a\u0301e\u0301o\u0308u\u0308a\u0301", "a関b数c名d前e長f場g合h切i"};
  for (const std::string& text : texts) {
    for (size_t width = 0; width <= DisplayWidth(text) && width < 60; ++width) {
      const std::string shortened = ShortenedMiddle(text, width);
      EXPECT_LE(DisplayWidth(shortened), width) << text;
      EXPECT_GE(DisplayWidth(shortened) + 2, width) << text;
      EXPECT_EQ(Displayable(shortened), shortened);
    }
  }
  EXPECT_EQ(ShortenedMiddle("e\u0301o\u0308u\u0308a\u0301e\u0301o\u0308u\u0308", 6), "e\u0301...o\u0308u\u0308");
}

}  // namespace
}  // namespace stallhound
