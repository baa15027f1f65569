// NVTX for real: two shared objects with NVTX inside, and a tool library that NVTX loads by its environment variable.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "record/nvtx/nvtx_injection.h"
#include "record/testing/spool_records.h"

namespace stallhound::record {
namespace {

using capture::spool::DomainRecord;
using capture::spool::kNonePayload;
using capture::spool::RangeEvent;
using capture::spool::RangeRecord;
using capture::spool::RecordType;
using capture::spool::ThreadRecord;

std::string Runfile(const std::string& name) {
  return std::string(getenv("TEST_SRCDIR")) + "/" + getenv("TEST_WORKSPACE") + "/record/nvtx/testdata/" + name;
}

template <typename Function>
Function* Symbol(const std::string& library, const char* name) {
  void* handle = dlopen(Runfile(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  auto* function = reinterpret_cast<Function*>(dlsym(handle, name));
  EXPECT_NE(function, nullptr) << name;
  return function;
}

struct Range {
  RangeEvent event;
  std::string domain;
  std::string name;
  std::string category;
  int64_t payload;

  bool operator==(const Range&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Range& range) {
  return out << static_cast<int>(range.event) << " [" << range.domain << "] '" << range.name << "' " << range.category
             << " " << range.payload;
}

// The process injects once and for all: one test drives all of it, in order.
TEST(NvtxInjectionTest, RecordsWhatTwoModulesAndManyThreadsMark) {
  setenv("NVTX_INJECTION64_PATH", Runfile("nvtx_tool.so").c_str(), 1);
  setenv("NVTX_TEST_SPOOL_DIR", (std::string(getenv("TEST_TMPDIR")) + "/nvtx").c_str(), 1);
  Symbol<void()>("nvtx_module_a.so", "MarkEverything")();
  Symbol<void()>("nvtx_module_b.so", "MarkEverything")();
  EXPECT_EQ(Symbol<int()>("nvtx_tool.so", "InjectionCount")(), 2) << "each shared object injects for itself";
  Symbol<void()>("nvtx_module_b.so", "MarkBadly")();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] { Symbol<void(int)>("nvtx_module_a.so", "PushAndPop")(500); });
  }
  for (auto& thread : threads) thread.join();
  Symbol<void()>("nvtx_tool.so", "CloseSpool")();

  const SpoolRecords spool(Symbol<const char*()>("nvtx_tool.so", "SpoolPath")());
  std::map<uint32_t, std::string> domains = {{0, "default"}};
  for (const auto* domain : spool.Of<DomainRecord>(RecordType::kDomain)) {
    domains[domain->domain_id] = spool.Text(domain->name);
  }
  EXPECT_EQ(domains.size(), 2u) << "the same domain of two modules is one; one without events is none";

  const auto records = spool.Of<RangeRecord>(RecordType::kRange);
  std::vector<Range> ranges;
  std::set<uint32_t> pushing_threads;
  for (const auto* record : records) {
    if (spool.Text(record->name) == "threaded") pushing_threads.insert(record->thread_index);
    ranges.push_back({record->event, domains.at(record->domain_id), spool.Text(record->name),
                      spool.Text(record->category), record->payload});
  }
  const std::vector<Range> expected = {
      {RangeEvent::kPush, "default", "ascii push", "", kNonePayload},
      {RangeEvent::kPush, "default", "wide push \u00e9\u4e2d", "", kNonePayload},
      {RangeEvent::kMark, "default", "ascii mark", "", kNonePayload},
      {RangeEvent::kMark, "default", "wide mark", "", kNonePayload},
      {RangeEvent::kPop, "default", "", "", kNonePayload},
      {RangeEvent::kPop, "default", "", "", kNonePayload},
      {RangeEvent::kPush, "shared domain", "registered name", "domain category", -42},
      {RangeEvent::kPop, "shared domain", "", "", kNonePayload},
      {RangeEvent::kStart, "shared domain", "range with attributes", "9", 0xffffffff},
      {RangeEvent::kEnd, "default", "", "", kNonePayload},
      {RangeEvent::kStart, "default", "process range", "", kNonePayload},
      {RangeEvent::kEnd, "default", "", "", kNonePayload},
      {RangeEvent::kMark, "default", "range with attributes", "default category", kNonePayload},
  };
  ASSERT_GT(ranges.size(), 2 * expected.size());
  const auto middle = ranges.begin() + static_cast<int64_t>(expected.size());
  EXPECT_EQ(std::vector<Range>(ranges.begin(), middle), expected);
  EXPECT_EQ(std::vector<Range>(middle, middle + static_cast<int64_t>(expected.size())), expected);
  EXPECT_EQ(records[8]->range_id, records[9]->range_id);
  EXPECT_NE(records[10]->range_id, records[8]->range_id);
  EXPECT_EQ(pushing_threads.size(), 4u);
  EXPECT_EQ(ranges.size(), 2 * expected.size() + 8 + 4 * 500 * 2) << "bad calls are recorded too, without a name";
  bool is_thread_named = false;
  for (const auto* thread : spool.Of<ThreadRecord>(RecordType::kThread)) {
    is_thread_named |= spool.Text(thread->name) == "named thread" && thread->thread_index == records[0]->thread_index;
  }
  EXPECT_TRUE(is_thread_named);
  const auto unknown = static_cast<int>(capture::LossCounter::kUnknownString);
  EXPECT_EQ(spool.header().losses[unknown].count.load(), 2u);
}

TEST(NvtxInjectionTest, RefusesWhatIsNoExportTable) {
  EXPECT_EQ(InjectNvtx(nullptr), 0);
  auto no_table = [](uint32_t) -> const void* { return nullptr; };
  EXPECT_EQ(InjectNvtx(reinterpret_cast<void*>(+no_table)), 0);
}

}  // namespace
}  // namespace stallhound::record
