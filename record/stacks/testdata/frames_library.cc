// Loaded by frames.py through ctypes: stacks of the calling thread as text, with lines resolved. Keeps what the
// recorder would write in memory.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "capture/symbolize/python_lines.h"
#include "record/stacks/stacks.h"

namespace stallhound::record {
namespace {

struct StoredCode {
  std::string file;
  std::string name;
  int32_t first_line;
  uint32_t python_version;
  std::vector<uint8_t> table;
};

class MemorySink final : public StackSink {
 public:
  uint32_t AddString(const char* text, uint32_t bytes) override {
    const std::lock_guard lock(mutex_);
    strings_.emplace_back(text, bytes);
    return static_cast<uint32_t>(strings_.size());
  }
  uint32_t AddPythonCode(const PythonCode& code) override {
    const std::lock_guard lock(mutex_);
    codes_.push_back({strings_[code.file - 1], strings_[code.name - 1], code.first_line, code.python_version,
                      std::vector<uint8_t>(code.table, code.table + code.table_bytes)});
    return static_cast<uint32_t>(codes_.size());
  }
  uint32_t AddStack(const Stack& stack) override {
    const std::lock_guard lock(mutex_);
    stacks_.emplace_back(stack.python, stack.python + stack.python_count);
    native_counts_.push_back(stack.native_count);
    return static_cast<uint32_t>(stacks_.size());
  }
  void CountLoss(capture::LossCounter counter) override {
    const std::lock_guard lock(mutex_);
    ++losses_[counter];
  }

  uint64_t Generation() override { return 1; }

  std::string Describe(uint32_t stack_id) {
    const std::lock_guard lock(mutex_);
    std::string text;
    if (stack_id == 0) return text;
    for (const auto& frame : stacks_[stack_id - 1]) {
      const StoredCode& code = codes_[frame.code_id - 1];
      const auto line =
          capture::FindPythonLine(code.python_version, code.table, code.first_line, frame.instruction_offset);
      text += code.file + "\t" + std::to_string(line.value_or(-1)) + "\t" + code.name + "\n";
    }
    return text;
  }
  int stack_count() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(stacks_.size());
  }
  int loss(capture::LossCounter counter) {
    const std::lock_guard lock(mutex_);
    return losses_[counter];
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> strings_;
  std::vector<StoredCode> codes_;
  std::vector<std::vector<capture::spool::PythonFrame>> stacks_;
  std::vector<int> native_counts_;
  std::map<capture::LossCounter, int> losses_;
};

// Never destroyed: daemon threads use them while the process exits.
MemorySink& Sink() {
  static auto* sink = new MemorySink;
  return *sink;
}

StackRecorder& Recorder() {
  static StackRecorder* recorder = [] {
    auto* made = new StackRecorder(Sink());
    made->Refresh();
    return made;
  }();
  return *recorder;
}

std::mutex allocator_lock;
int lock_rounds = 0;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

}  // namespace
}  // namespace stallhound::record

extern "C" {

using namespace stallhound::record;

void TakeStack(char* out, int capacity) {
  const std::string text = Sink().Describe(Recorder().Take());
  const size_t bytes = std::min(text.size(), static_cast<size_t>(capacity) - 1);
  memcpy(out, text.data(), bytes);
  out[bytes] = '\0';
}

int StackRecords() { return Sink().stack_count(); }
int TruncatedStacks() { return Sink().loss(stallhound::capture::LossCounter::kStackTruncated); }

void SetLockRounds(int rounds) { lock_rounds = rounds; }

void LockAndUnlock() { const std::lock_guard lock(allocator_lock); }

void TakeStacksUnderLock() {
  for (int i = 0; i < lock_rounds; ++i) {
    const std::lock_guard lock(allocator_lock);
    Recorder().Take();
    if (i % 10 == 0) std::this_thread::yield();
  }
}

void TakeForever() {
  for (;;) Recorder().Take();
}

int MedianCost(int rounds) {
  constexpr int kBatch = 50;
  std::vector<int64_t> costs;
  for (int i = 0; i < rounds / kBatch; ++i) {
    const int64_t start = NowNs();
    for (int j = 0; j < kBatch; ++j) Recorder().Take();
    costs.push_back((NowNs() - start) / kBatch);
  }
  std::nth_element(costs.begin(), costs.begin() + static_cast<int64_t>(costs.size()) / 2, costs.end());
  return static_cast<int>(costs[costs.size() / 2]);
}

}  // extern "C"
