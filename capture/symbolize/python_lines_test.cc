#include "capture/symbolize/python_lines.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace stallhound::capture {
namespace {

using Table = std::vector<uint8_t>;

TEST(PythonLinesTest, AFrameThatHasNotStartedIsOnItsFirstLine) {
  for (uint32_t version : {0x0309u, 0x030au, 0x030bu, 0x030eu}) EXPECT_EQ(FindPythonLine(version, {}, 7, -1), 7);
}

TEST(PythonLinesTest, ReadsLnotab) {
  // 0-5: line 10; 6-11: 11; 12 on: 8 (a negative step), as 3.9 writes them.
  const Table table = {6, 1, 6, 0xfd};
  EXPECT_EQ(FindPythonLine(0x0309, table, 10, 0), 10);
  EXPECT_EQ(FindPythonLine(0x0309, table, 10, 5), 10);
  EXPECT_EQ(FindPythonLine(0x0309, table, 10, 6), 11);
  EXPECT_EQ(FindPythonLine(0x0309, table, 10, 12), 8);
  EXPECT_EQ(FindPythonLine(0x0309, table, 10, 5000), 8);
}

TEST(PythonLinesTest, ReadsPep626Tables) {
  // 0-3: line 11; 4-7: no line; 8-9: 11 again; then 12.
  const Table table = {4, 1, 4, 0x80, 2, 0, 2, 1};
  EXPECT_EQ(FindPythonLine(0x030a, table, 10, 2), 11);
  EXPECT_EQ(FindPythonLine(0x030a, table, 10, 4), std::nullopt);
  EXPECT_EQ(FindPythonLine(0x030a, table, 10, 8), 11);
  EXPECT_EQ(FindPythonLine(0x030a, table, 10, 10), 12);
  EXPECT_EQ(FindPythonLine(0x030a, table, 10, 12), std::nullopt);
}

TEST(PythonLinesTest, ReadsEveryFormOfLocationEntry) {
  const Table table = {
      0x80 | 14 << 3 | 0, 2,    0, 1, 1,  // long: one unit, line + 1
      0x80 | 3 << 3 | 1,  0x12,           // short: two units, same line
      0x80 | 11 << 3 | 0, 4,    9,        // one line further
      0x80 | 12 << 3 | 0, 4,    9,        // two lines further
      0x80 | 13 << 3 | 0, 7,              // no columns: line - 3
      0x80 | 15 << 3 | 0,                 // no line
      0x80 | 13 << 3 | 0, 0x40, 2,        // no columns: line + 64, in two bytes
  };
  const auto line = [&](int32_t offset) { return FindPythonLine(0x030b, table, 100, offset); };
  EXPECT_EQ(line(0), 101);
  EXPECT_EQ(line(2), 101);
  EXPECT_EQ(line(5), 101);
  EXPECT_EQ(line(6), 102);
  EXPECT_EQ(line(8), 104);
  EXPECT_EQ(line(10), 101);
  EXPECT_EQ(line(12), std::nullopt);
  EXPECT_EQ(line(14), 165);
  EXPECT_EQ(line(16), std::nullopt);
}

TEST(PythonLinesTest, SurvivesAnyBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Table table(random() % 40);
    for (uint8_t& byte : table) byte = static_cast<uint8_t>(random());
    for (uint32_t version : {0x0309u, 0x030au, 0x030bu}) {
      FindPythonLine(version, table, static_cast<int32_t>(random()), static_cast<int32_t>(random() % 200));
    }
  }
}

}  // namespace
}  // namespace stallhound::capture
