#include "record/nvtx/nvtx_recorder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "record/testing/spool_records.h"

namespace stallhound::record {
namespace {

using capture::spool::RangeEvent;
using capture::spool::RangeRecord;
using capture::spool::RecordType;
using capture::spool::SpoolWriter;

class NvtxRecorderTest : public testing::Test {
 protected:
  NvtxRecorderTest() : recorder_(writer_) {
    directory_ =
        std::string(getenv("TEST_TMPDIR")) + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    EXPECT_TRUE(writer_.Configure({.directory = directory_.c_str()}));
  }

  std::vector<std::string> NamesIn(const std::string& path) {
    const SpoolRecords spool(path);
    std::vector<std::string> names;
    for (const auto* record : spool.Of<RangeRecord>(RecordType::kRange)) names.push_back(spool.Text(record->name));
    return names;
  }

  std::string directory_;
  SpoolWriter writer_;
  NvtxRecorder recorder_;
};

TEST_F(NvtxRecorderTest, EqualTextsShareOneHandle) {
  EXPECT_EQ(recorder_.RegisterString("a"), recorder_.RegisterString("a"));
  EXPECT_NE(recorder_.RegisterString("a"), recorder_.RegisterString("b"));
  EXPECT_EQ(recorder_.CreateDomain("a"), recorder_.CreateDomain("a"));
  for (int i = 0; i < 3000; ++i)
    EXPECT_EQ(recorder_.RegisterString(std::to_string(i)), recorder_.RegisterString(std::to_string(i)));
}

TEST_F(NvtxRecorderTest, TheHookHearsRangesThatAreNotRecorded) {
  struct Heard {
    std::vector<std::string> names;
    std::vector<RangeEvent> events;
  } heard;
  recorder_.SetHook({&heard, [](void* context, RangeEvent event, std::string_view name, uint64_t) {
                       static_cast<Heard*>(context)->names.emplace_back(name);
                       static_cast<Heard*>(context)->events.push_back(event);
                     }});
  recorder_.SetRecording(false);
  recorder_.Push({.registered = recorder_.RegisterString("step")});
  recorder_.Pop(0);
  recorder_.SetRecording(true);
  recorder_.Mark({.text = "seen"});
  EXPECT_EQ(heard.names, (std::vector<std::string>{"step", "", "seen"}));
  EXPECT_EQ(heard.events, (std::vector{RangeEvent::kPush, RangeEvent::kPop, RangeEvent::kMark}));
  EXPECT_EQ(NamesIn(writer_.path()), std::vector<std::string>{"seen"});
}

TEST_F(NvtxRecorderTest, HandlesOfTheParentHoldInAForkedChild) {
  const NvtxString name = recorder_.RegisterString("before the fork");
  const NvtxDomain domain = recorder_.CreateDomain("domain");
  recorder_.Mark({.domain = domain, .registered = name});
  const std::string parent_path = writer_.path();
  const pid_t child = fork();
  if (child == 0) {
    writer_.ForgetAfterFork();
    recorder_.UnlockInChild();
    recorder_.Mark({.text = "child's first"});
    recorder_.Mark({.domain = domain, .registered = name});
    const std::vector<std::string> names = NamesIn(writer_.path());
    _exit(names == std::vector<std::string>{"child's first", "before the fork"} && parent_path != writer_.path() ? 0
                                                                                                                 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(NamesIn(parent_path), std::vector<std::string>{"before the fork"});
}

TEST_F(NvtxRecorderTest, OperatorsHaveANameANumberAndTheStackWhereTheyHaveANumber) {
  uint32_t taken = 0;
  recorder_.RecordOperators({&taken, [](void* context) { return 90 + ++*static_cast<uint32_t*>(context); }});
  recorder_.Push({.text = "aten::index, seq = 42, op_id = 7"});
  recorder_.Push({.text = "aten::empty, op_id = 8"});
  recorder_.Push({.text = "a range, of the program", .payload = 3});
  recorder_.Mark({.text = "aten::index, seq = 42"});
  recorder_.Push({.text = "aten::index, seq = 43, op_id = 9"});
  EXPECT_EQ(NamesIn(writer_.path()), (std::vector<std::string>{"aten::index", "aten::empty", "a range, of the program",
                                                               "aten::index, seq = 42", "aten::index"}));
  const SpoolRecords spool(writer_.path());
  const auto ranges = spool.Of<RangeRecord>(RecordType::kRange);
  const std::vector<std::tuple<uint32_t, uint64_t, int64_t>> expected = {
      {1, 91, 42}, {1, 0, capture::spool::kNonePayload}, {0, 0, 3}, {0, 0, capture::spool::kNonePayload}, {1, 92, 43}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::tuple(ranges[i]->is_operator, ranges[i]->range_id, ranges[i]->payload), expected[i]) << i;
  }
}

TEST_F(NvtxRecorderTest, WithoutTheOptionAnOperatorIsARangeAsAnyOther) {
  recorder_.Push({.text = "aten::index, seq = 42, op_id = 7"});
  EXPECT_EQ(NamesIn(writer_.path()), std::vector<std::string>{"aten::index, seq = 42, op_id = 7"});
  EXPECT_EQ(SpoolRecords(writer_.path()).Of<RangeRecord>(RecordType::kRange)[0]->is_operator, 0u);
}

TEST_F(NvtxRecorderTest, KeepsThousandsOfCategories) {
  for (uint32_t i = 1; i <= 4000; ++i) recorder_.NameCategory(1, i, "category " + std::to_string(i));
  recorder_.NameCategory(1, 5, "renamed");
  recorder_.Mark({.domain = 1, .text = "m", .category = 5});
  recorder_.Mark({.domain = 2, .text = "m", .category = 5});
  const SpoolRecords spool(writer_.path());
  const auto records = spool.Of<RangeRecord>(RecordType::kRange);
  EXPECT_EQ(spool.Text(records[0]->category), "renamed");
  EXPECT_EQ(spool.Text(records[1]->category), "5") << "categories are per domain";
}

}  // namespace
}  // namespace stallhound::record
