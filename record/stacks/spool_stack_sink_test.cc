#include "record/stacks/spool_stack_sink.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "record/stacks/stacks.h"
#include "record/testing/spool_records.h"

namespace stallhound::record {
namespace {

using capture::spool::PythonCodeRecord;
using capture::spool::PythonFrame;
using capture::spool::RecordType;
using capture::spool::SpoolWriter;
using capture::spool::StackRecord;

class SpoolStackSinkTest : public testing::Test {
 protected:
  SpoolStackSinkTest() : sink_(writer_) {
    const std::string directory =
        std::string(getenv("TEST_TMPDIR")) + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    EXPECT_TRUE(writer_.Configure({.directory = directory.c_str()}));
  }

  SpoolWriter writer_;
  SpoolStackSink sink_;
};

TEST_F(SpoolStackSinkTest, WritesCodeAndStacksAsTheFormatSays) {
  ASSERT_NE(sink_.Generation(), 0u);
  const uint8_t table[] = {1, 2, 3, 4, 5};
  const uint32_t code_id = sink_.AddPythonCode({.file = sink_.AddString("/a.py", 5),
                                                .name = sink_.AddString("f", 1),
                                                .first_line = 7,
                                                .python_version = 0x030b,
                                                .table = table,
                                                .table_bytes = sizeof(table)});
  const PythonFrame python[] = {{code_id, 4}, {code_id, -1}};
  const uint64_t native[] = {0x1000, 0x2000, 0x3000};
  const uint32_t stack_id = sink_.AddStack({python, native, 2, 3});
  const SpoolRecords spool(writer_.path());
  const auto codes = spool.Of<PythonCodeRecord>(RecordType::kPythonCode);
  ASSERT_EQ(codes.size(), 1u);
  EXPECT_EQ(codes[0]->code_id, code_id);
  EXPECT_EQ(spool.Text(codes[0]->file), "/a.py");
  EXPECT_EQ(codes[0]->first_line, 7);
  ASSERT_EQ(codes[0]->table_bytes, sizeof(table));
  EXPECT_EQ(memcmp(codes[0] + 1, table, sizeof(table)), 0);
  const auto stacks = spool.Of<StackRecord>(RecordType::kStack);
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0]->stack_id, stack_id);
  EXPECT_EQ(stacks[0]->python_count, 2);
  EXPECT_EQ(stacks[0]->native_count, 3);
  EXPECT_EQ(memcmp(stacks[0] + 1, python, sizeof(python)), 0);
  EXPECT_EQ(memcmp(reinterpret_cast<const char*>(stacks[0] + 1) + sizeof(python), native, sizeof(native)), 0);
}

// `stacks` of many threads at first use, none of which has Python.
TEST_F(SpoolStackSinkTest, EightThreadsTakeNativeStacksAtOnce) {
  StackRecorder recorder(sink_);
  recorder.Refresh();
  std::vector<std::thread> threads;
  std::atomic<int> taken{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) taken += recorder.Take() != 0 ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(taken, 8 * 200);
  const SpoolRecords spool(writer_.path());
  const auto stacks = spool.Of<StackRecord>(RecordType::kStack);
  EXPECT_GE(stacks.size(), 1u);
  EXPECT_LE(stacks.size(), 8u) << "a repeated stack costs no record";
  for (const auto* stack : stacks) {
    EXPECT_EQ(stack->python_count, 0);
    EXPECT_GT(stack->native_count, 1);
  }
}

}  // namespace
}  // namespace stallhound::record
