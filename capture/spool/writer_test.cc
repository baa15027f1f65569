#include "capture/spool/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace stallhound::capture::spool {
namespace {

// What a file holds, read the plain way: every chunk in order, every committed record.
struct Contents {
  FileHeader* header = nullptr;
  std::string bytes;
  std::map<uint32_t, std::string> strings;
  std::map<uint32_t, int64_t> threads;
  std::map<RecordType, int> counts;
  std::vector<HostCallRecord> calls;
  bool is_whole = true;
};

Contents ReadSpool(const std::string& path) {
  Contents contents;
  std::ifstream file(path, std::ios::binary);
  contents.bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (contents.bytes.size() < kHeaderBytes) {
    contents.is_whole = false;
    return contents;
  }
  contents.header = reinterpret_cast<FileHeader*>(contents.bytes.data());
  const uint64_t units = contents.header->units_used.load();
  for (uint64_t unit = 0; unit < units;) {
    const uint64_t at = kHeaderBytes + unit * kUnitBytes;
    if (at + sizeof(ChunkHeader) > contents.bytes.size()) break;
    auto* chunk = reinterpret_cast<ChunkHeader*>(contents.bytes.data() + at);
    if (chunk->magic != kChunkMagic || chunk->unit_count == 0) {
      contents.is_whole = false;
      break;
    }
    const uint32_t end = chunk->committed_bytes.load();
    const char* body = contents.bytes.data() + at + sizeof(ChunkHeader);
    for (uint32_t offset = 0; chunk->kind != ChunkKind::kActivity && offset < end;) {
      RecordHeader record;
      memcpy(&record, body + offset, sizeof(record));
      if (record.bytes < 8 || record.bytes % 8 != 0 || offset + record.bytes > end) {
        contents.is_whole = false;
        break;
      }
      ++contents.counts[record.type];
      if (record.type == RecordType::kString) {
        StringRecord text;
        memcpy(&text, body + offset, sizeof(text));
        contents.strings[text.string_id] = std::string(body + offset + sizeof(text), text.length);
      } else if (record.type == RecordType::kThread) {
        ThreadRecord thread;
        memcpy(&thread, body + offset, sizeof(thread));
        contents.threads[thread.thread_index] = thread.tid;
      } else if (record.type == RecordType::kHostCall) {
        HostCallRecord call;
        memcpy(&call, body + offset, sizeof(call));
        contents.calls.push_back(call);
      }
      offset += record.bytes;
    }
    unit += chunk->unit_count;
  }
  return contents;
}

uint64_t LossCount(const Contents& contents, LossCounter counter) {
  return contents.header->losses[static_cast<int>(counter)].count.load();
}

HostCallRecord Call(int64_t start_ns) {
  HostCallRecord record{};
  record.start_ns = start_ns;
  record.end_ns = start_ns + 1;
  return record;
}

class WriterTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/writer_test.XXXXXX";
    folder_ = mkdtemp(pattern);
    directory_ = folder_ + "/home/spool";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  WriterOptions Options() {
    WriterOptions options;
    options.directory = directory_.c_str();
    options.recorder_version = "test";
    return options;
  }
  std::vector<std::string> Files() {
    std::vector<std::string> files;
    if (!std::filesystem::exists(directory_)) return files;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) files.push_back(entry.path());
    return files;
  }

  std::string folder_;
  std::string directory_;
};

TEST_F(WriterTest, MakesNothingBeforeTheFirstRecord) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  writer.CountLoss(LossCounter::kTwoCupti);
  EXPECT_FALSE(std::filesystem::exists(directory_));
  HostCallRecord call = Call(5);
  ASSERT_TRUE(writer.Append(call, 6));
  ASSERT_EQ(Files().size(), 1u);
  EXPECT_EQ(Files()[0], writer.path());
  const Contents contents = ReadSpool(writer.path());
  EXPECT_EQ(LossCount(contents, LossCounter::kTwoCupti), 1u) << "losses before the file existed are kept";
}

TEST_F(WriterTest, FileAndFolderArePrivate) {
  umask(0);
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  ASSERT_TRUE(writer.EnsureOpen());
  struct stat status {};
  ASSERT_EQ(stat(writer.path(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  ASSERT_EQ(stat(directory_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
}

TEST_F(WriterTest, RoundTripAndCleanClose) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  const uint32_t hello = writer.InternString("hello");
  EXPECT_EQ(writer.InternString("hello"), hello);
  EXPECT_NE(writer.InternString("hello "), hello);
  EXPECT_EQ(writer.InternString(""), 0u);
  for (int i = 0; i < 5000; ++i) {
    HostCallRecord call = Call(100 + i);
    ASSERT_TRUE(writer.Append(call, call.end_ns));
  }
  writer.Close();
  HostCallRecord late = Call(1);
  EXPECT_FALSE(writer.Append(late, 2));
  EXPECT_EQ(writer.InternString("late"), 0u);
  const Contents contents = ReadSpool(writer.path());
  ASSERT_TRUE(contents.is_whole);
  EXPECT_EQ(contents.calls.size(), 5000u);
  EXPECT_EQ(contents.calls[4999].start_ns, 5099);
  EXPECT_EQ(contents.strings.at(hello), "hello");
  EXPECT_EQ(contents.threads.size(), 1u);
  EXPECT_EQ(contents.threads.begin()->second, gettid());
  EXPECT_GT(contents.header->close_ns.load(), contents.header->open_ns);
  EXPECT_EQ(contents.bytes.size(), kHeaderBytes + contents.header->units_used.load() * kUnitBytes);
  EXPECT_EQ(contents.header->last_event_ns.load() >= 5100, true);
}

TEST_F(WriterTest, InternsRecordsByContent) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  ShapeRecord shape{};
  shape.name = writer.InternString("kernel");
  shape.grid[0] = 4;
  const uint32_t first = writer.Intern(shape);
  shape.grid[0] = 5;
  EXPECT_EQ(writer.Intern(shape), first + 1);
  shape.grid[0] = 4;
  EXPECT_EQ(writer.Intern(shape), first);
  StackRecord stack{};
  stack.python_count = 1;
  const PythonFrame frame{7, 12};
  const uint32_t stack_id = writer.Intern(stack, &frame, sizeof(frame));
  EXPECT_EQ(writer.Intern(stack, &frame, sizeof(frame)), stack_id);
  const std::string long_text(100000, 'x');
  EXPECT_NE(writer.InternString(long_text), 0u);
  PythonCodeRecord code{};
  code.table_bytes = 200000;
  const std::string table(200000, 't');
  EXPECT_NE(writer.Intern(code, table.data(), table.size()), 0u) << "larger than one unit";
  writer.Close();
  const Contents contents = ReadSpool(writer.path());
  ASSERT_TRUE(contents.is_whole);
  EXPECT_EQ(contents.counts.at(RecordType::kShape), 2);
  EXPECT_EQ(contents.counts.at(RecordType::kStack), 1);
  EXPECT_EQ(contents.counts.at(RecordType::kPythonCode), 1);
}

TEST_F(WriterTest, ThreadsAreKnownByTheirTid) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  const uint32_t other = writer.ThreadIndexOf(999999999);
  EXPECT_EQ(writer.ThreadIndexOf(gettid()), writer.ThreadIndex());
  EXPECT_EQ(writer.ThreadIndexOf(999999999), other);
  EXPECT_NE(writer.ThreadIndex(), other);
}

int64_t SharedTid() noexcept { return 77; }

// The index that a new thread gets.
uint32_t IndexOfNewThread(SpoolWriter& writer) {
  uint32_t index = 0;
  std::thread([&] { index = writer.ThreadIndex(); }).join();
  return index;
}

TEST_F(WriterTest, AThreadIsNotTheDeadOneThatHadItsTid) {
  SpoolWriter writer;
  WriterOptions options = Options();
  options.caller_tid = SharedTid;
  ASSERT_TRUE(writer.Configure(options));
  const uint32_t first = IndexOfNewThread(writer);
  EXPECT_EQ(writer.ThreadIndexOf(77), first) << "what CUPTI delivers late is still the dead thread's";
  const uint32_t second = IndexOfNewThread(writer);
  EXPECT_NE(second, first);
  EXPECT_NE(second, 0u);
  EXPECT_EQ(writer.ThreadIndexOf(77), second);
  EXPECT_NE(IndexOfNewThread(writer), second);
  writer.Close();
  const Contents contents = ReadSpool(writer.path());
  ASSERT_TRUE(contents.is_whole);
  EXPECT_EQ(contents.threads.size(), 3u);
}

TEST_F(WriterTest, AThreadTakesTheIndexThatOthersKnowItBy) {
  SpoolWriter writer;
  WriterOptions options = Options();
  options.caller_tid = SharedTid;
  ASSERT_TRUE(writer.Configure(options));
  const uint32_t known = writer.ThreadIndexOf(77);
  EXPECT_EQ(IndexOfNewThread(writer), known);
  EXPECT_NE(IndexOfNewThread(writer), known);
  writer.Close();
  Contents contents = ReadSpool(writer.path());
  EXPECT_EQ(contents.threads.size(), 2u);
  EXPECT_EQ(contents.counts[RecordType::kThread], 3) << "it says its name, which nobody knew";
}

TEST_F(WriterTest, AThreadStaysItselfWhileItEnds) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  struct Ending {
    SpoolWriter& writer;
    uint32_t index = 0;
  } ending{writer};
  uint32_t index = 0;
  pthread_key_t key;
  std::thread([&] {
    index = writer.ThreadIndex();
    ASSERT_EQ(pthread_key_create(&key,
                                 [](void* data) {
                                   auto* at_end = static_cast<Ending*>(data);
                                   at_end->index = at_end->writer.ThreadIndex();
                                 }),
              0);
    pthread_setspecific(key, &ending);
  }).join();
  pthread_key_delete(key);
  EXPECT_NE(index, 0u);
  EXPECT_EQ(ending.index, index);
}

TEST_F(WriterTest, ManyStringsGrowTheTable) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  std::vector<uint32_t> ids;
  for (int i = 0; i < 20000; ++i) ids.push_back(writer.InternString("name " + std::to_string(i)));
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(writer.InternString("name " + std::to_string(i)), ids[i]);
  EXPECT_EQ(std::set<uint32_t>(ids.begin(), ids.end()).size(), 20000u);
}

TEST_F(WriterTest, EightThreadsAtFirstUse) {
  for (int round = 0; round < 20; ++round) {
    auto writer = std::make_unique<SpoolWriter>();
    ASSERT_TRUE(writer->Configure(Options()));
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    std::vector<uint32_t> ids(8);
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        ready.fetch_add(1);
        while (ready.load() < 8) {
        }
        ids[t] = writer->InternString("shared");
        for (int i = 0; i < 1000; ++i) {
          HostCallRecord call = Call(i);
          call.thread_index = writer->ThreadIndex();
          ASSERT_TRUE(writer->Append(call, call.end_ns));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    writer->Close();
    ASSERT_EQ(Files().size(), 1u);
    const Contents contents = ReadSpool(writer->path());
    ASSERT_TRUE(contents.is_whole);
    ASSERT_EQ(contents.calls.size(), 8000u);
    EXPECT_EQ(contents.threads.size(), 8u);
    EXPECT_EQ(std::set<uint32_t>(ids.begin(), ids.end()).size(), 1u);
    std::filesystem::remove_all(directory_);
  }
}

TEST_F(WriterTest, ChunksOfEndedThreadsAreUsedAgain) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  for (int t = 0; t < 300; ++t) {
    std::thread([&] {
      HostCallRecord call = Call(t);
      call.thread_index = writer.ThreadIndex();
      ASSERT_TRUE(writer.Append(call, call.end_ns));
    }).join();
  }
  writer.Close();
  const Contents contents = ReadSpool(writer.path());
  EXPECT_EQ(contents.calls.size(), 300u);
  EXPECT_EQ(contents.threads.size(), 300u);
  EXPECT_LE(contents.header->units_used.load(), 6u);
}

TEST_F(WriterTest, MaxSpoolIsCounted) {
  WriterOptions options = Options();
  options.max_bytes = kHeaderBytes + 8 * kUnitBytes;
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(options));
  int written = 0;
  for (int i = 0; i < 20000; ++i) {
    HostCallRecord call = Call(i);
    written += writer.Append(call, call.end_ns);
  }
  EXPECT_TRUE(writer.is_stopped());
  writer.Close();
  const Contents contents = ReadSpool(writer.path());
  ASSERT_TRUE(contents.is_whole);
  EXPECT_EQ(static_cast<int>(contents.calls.size()), written);
  EXPECT_GT(written, 3000);
  EXPECT_EQ(LossCount(contents, LossCounter::kSpoolFull), 20000u - written);
  EXPECT_LE(contents.bytes.size(), options.max_bytes);
}

int g_allocations_left = 0;
int LimitedAllocate(int fd, int64_t offset, int64_t bytes) {
  if (g_allocations_left-- <= 0) return ENOSPC;
  return posix_fallocate(fd, offset, bytes);
}

TEST_F(WriterTest, FullDiskStopsAndIsCounted) {
  WriterOptions options = Options();
  options.allocate = LimitedAllocate;
  g_allocations_left = 1;
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(options));
  int written = 0;
  for (int i = 0; i < 20000; ++i) {
    HostCallRecord call = Call(i);
    written += writer.Append(call, call.end_ns);
    writer.InternString("text " + std::to_string(i));
  }
  size_t bytes = 0;
  EXPECT_EQ(writer.LendActivity(&bytes), nullptr);
  EXPECT_TRUE(writer.is_stopped());
  EXPECT_EQ(writer.generation(), 0u);
  writer.Heartbeat();
  writer.Close();
  const Contents contents = ReadSpool(writer.path());
  ASSERT_TRUE(contents.is_whole);
  EXPECT_GT(written, 100);
  EXPECT_EQ(static_cast<int>(contents.calls.size()), written);
  EXPECT_GE(LossCount(contents, LossCounter::kDiskFull), 20000u - written);
  EXPECT_NE(contents.header->close_ns.load(), 0);
}

TEST_F(WriterTest, NoSpaceAtAllLeavesNothingBehind) {
  WriterOptions options = Options();
  options.allocate = LimitedAllocate;
  g_allocations_left = 0;
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(options));
  HostCallRecord call = Call(1);
  EXPECT_FALSE(writer.Append(call, 2));
  EXPECT_FALSE(writer.Append(call, 2));
  EXPECT_TRUE(Files().empty());
}

TEST_F(WriterTest, OneMebibyteTmpfsHarmsNothing) {
  const std::string mount_point = folder_ + "/tmpfs";
  std::filesystem::create_directory(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "mounting a tmpfs needs root: " << strerror(errno);
  }
  directory_ = mount_point + "/spool";
  {
    SpoolWriter writer;
    ASSERT_TRUE(writer.Configure(Options()));
    int written = 0;
    for (int i = 0; i < 50000; ++i) {
      HostCallRecord call = Call(i);
      written += writer.Append(call, call.end_ns);
      if (i % 1000 == 0) writer.Heartbeat();
    }
    writer.Close();
    const Contents contents = ReadSpool(writer.path());
    EXPECT_TRUE(contents.is_whole);
    EXPECT_GT(written, 5000) << "most of the megabyte is used";
    EXPECT_EQ(LossCount(contents, LossCounter::kDiskFull), 50000u - written);
  }
  EXPECT_EQ(umount(mount_point.c_str()), 0);
}

TEST_F(WriterTest, UnusableFolderHarmsNothing) {
  directory_ = "/proc/self/nowhere";
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  HostCallRecord call = Call(1);
  EXPECT_FALSE(writer.Append(call, 2));
  EXPECT_EQ(writer.ThreadIndex(), 0u);
  EXPECT_STREQ(writer.path(), "");
  writer.Close();
}

TEST_F(WriterTest, AddressSpaceLimitGivesASmallerSpool) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own memory is larger than the limit";
#endif
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{uint64_t{1} << 30, uint64_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
    SpoolWriter writer;
    HostCallRecord call = Call(1);
    _exit(writer.Configure(Options()) && writer.Append(call, 2) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(WriterTest, FileSizeLimitRaisesNoSignal) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{1u << 20, 1u << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    SpoolWriter writer;
    bool ok = writer.Configure(Options());
    for (int i = 0; i < 50000; ++i) {
      HostCallRecord call = Call(i);
      writer.Append(call, call.end_ns);
    }
    _exit(ok && writer.is_stopped() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(WriterTest, HoldsNoDescriptor) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  const int before = dup(0);
  close(before);
  for (int i = 0; i < 20000; ++i) {
    HostCallRecord call = Call(i);
    ASSERT_TRUE(writer.Append(call, call.end_ns));
  }
  const int after = dup(0);
  close(after);
  EXPECT_EQ(before, after);
}

TEST_F(WriterTest, RingKeepsTheLastTimes) {
  WriterOptions options = Options();
  options.ring_ns = 100000;
  static int64_t now_ns;
  now_ns = 0;
  options.now_ns = [] { return now_ns; };
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(options));
  const int total = 100000;
  for (int i = 0; i < total; ++i) {
    now_ns = 10 * i + 1;
    HostCallRecord call = Call(now_ns);
    ASSERT_TRUE(writer.Append(call, call.end_ns));
  }
  writer.Close();
  const Contents contents = ReadSpool(writer.path());
  ASSERT_TRUE(contents.is_whole);
  std::set<int64_t> starts;
  for (const HostCallRecord& call : contents.calls) starts.insert(call.start_ns);
  for (int i = total - 10000; i < total; ++i) ASSERT_TRUE(starts.count(10 * i + 1)) << i;
  EXPECT_EQ(LossCount(contents, LossCounter::kRingOverwritten), total - contents.calls.size());
  EXPECT_LT(contents.calls.size(), 13000u);
  EXPECT_EQ(contents.threads.size(), 1u) << "the dictionary is never overwritten";
}

TEST_F(WriterTest, RingAtItsSizeLimitOverwritesTheOldest) {
  WriterOptions options = Options();
  options.ring_ns = int64_t{1} << 60;
  options.max_bytes = kHeaderBytes + 8 * kUnitBytes;
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(options));
  for (int i = 0; i < 20000; ++i) {
    HostCallRecord call = Call(i + 1);
    ASSERT_TRUE(writer.Append(call, call.end_ns));
  }
  EXPECT_FALSE(writer.is_stopped());
  writer.Close();
  const Contents contents = ReadSpool(writer.path());
  EXPECT_EQ(LossCount(contents, LossCounter::kSpoolFull), 20000 - contents.calls.size());
  bool has_last = false;
  for (const HostCallRecord& call : contents.calls) has_last |= call.start_ns == 20000;
  EXPECT_TRUE(has_last);
}

TEST_F(WriterTest, ActivityBuffersGoRound) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  size_t bytes = 0;
  uint8_t* buffer = writer.LendActivity(&bytes);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(bytes, kActivityBodyBytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % 8, 0u);
  EXPECT_EQ(writer.NextDelivered().chunk, nullptr);
  memset(buffer, 0xab, 1000);
  writer.DeliverActivity(buffer, 1000);
  DeliveredActivity delivered = writer.NextDelivered();
  ASSERT_NE(delivered.chunk, nullptr);
  EXPECT_EQ(delivered.body, buffer);
  EXPECT_EQ(delivered.bytes, 1000u);
  EXPECT_EQ(delivered.chunk->state.load(), ActivityState::kDelivered);
  writer.MarkTranscribed(delivered, 500);
  EXPECT_EQ(delivered.chunk->transcribed_bytes.load(), 500u);
  writer.Recycle(delivered);
  EXPECT_EQ(writer.NextDelivered().chunk, nullptr);
  EXPECT_EQ(writer.LendActivity(&bytes), buffer);
  for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(buffer[i], 0) << i;
}

TEST_F(WriterTest, ForeignBuffersAreLeftAlone) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  std::vector<uint8_t> foreign(kActivityBodyBytes, 0xcd);
  writer.DeliverActivity(foreign.data() + 64, 100);
  writer.DeliverActivity(nullptr, 0);
  size_t bytes = 0;
  uint8_t* lent = writer.LendActivity(&bytes);
  ASSERT_NE(lent, nullptr);
  writer.DeliverActivity(foreign.data() + 64, 100);
  writer.DeliverActivity(lent + 8, 100);
  writer.DeliverActivity(lent + kUnitBytes, 100);
  EXPECT_EQ(writer.NextDelivered().chunk, nullptr);
  writer.DeliverActivity(lent, bytes + 1000);
  const DeliveredActivity delivered = writer.NextDelivered();
  EXPECT_EQ(delivered.bytes, bytes) << "no more than the buffer holds";
  writer.DeliverActivity(lent, 10);
  EXPECT_EQ(writer.NextDelivered().chunk, nullptr) << "twice";
  EXPECT_EQ(foreign, std::vector<uint8_t>(kActivityBodyBytes, 0xcd));
}

TEST_F(WriterTest, ForkedChildOpensItsOwnFile) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  HostCallRecord call = Call(1);
  ASSERT_TRUE(writer.Append(call, 2));
  size_t bytes = 0;
  uint8_t* lent = writer.LendActivity(&bytes);
  const std::string parent_path = writer.path();
  const pid_t child = fork();
  if (child == 0) {
    writer.ForgetAfterFork();
    memset(lent, 1, bytes);  // as CUPTI might at the child's exit
    HostCallRecord own = Call(7);
    bool ok = Files().size() == 1 && writer.Append(own, 8) && writer.InternString("child") != 0;
    writer.Close();
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(Files().size(), 2u);
  for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(lent[i], 0) << "the child wrote into its parent's file";
  for (const std::string& path : Files()) {
    const Contents contents = ReadSpool(path);
    ASSERT_TRUE(contents.is_whole);
    ASSERT_EQ(contents.calls.size(), 1u);
    EXPECT_EQ(contents.calls[0].start_ns, path == parent_path ? 1 : 7);
    EXPECT_EQ(LossCount(contents, LossCounter::kForkedChild), path == parent_path ? 0u : 1u);
    EXPECT_EQ(contents.header->pid, path == parent_path ? getpid() : child);
  }
}

TEST_F(WriterTest, ForkWhileOthersWrite) {
  SpoolWriter writer;
  ASSERT_TRUE(writer.Configure(Options()));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop.load(); ++i) {
        HostCallRecord call = Call(i);
        writer.Append(call, call.end_ns);
        writer.InternString(std::to_string(t) + " " + std::to_string(i));
      }
    });
  }
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      writer.ForgetAfterFork();
      HostCallRecord call = Call(1);
      const bool ok = writer.Append(call, 2) && writer.InternString("child") == 2;  // 1 is the thread's name
      _exit(ok ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Files().size(), 41u);
}

TEST_F(WriterTest, KilledProcessLosesNoCommittedRecord) {
  for (int round = 0; round < 10; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      SpoolWriter writer;
      writer.Configure(Options());
      for (int64_t i = 1;; ++i) {
        HostCallRecord call = Call(i);
        if (!writer.Append(call, call.end_ns)) _exit(1);
        if (i % 100 == 0) writer.InternString("name " + std::to_string(i));
        if (write(pipe_ends[1], &i, sizeof(i)) != sizeof(i)) _exit(1);
      }
    }
    close(pipe_ends[1]);
    int64_t last = 0;
    for (int i = 0; i < 1000 + 700 * round; ++i) ASSERT_EQ(read(pipe_ends[0], &last, sizeof(last)), 8);
    kill(child, SIGKILL);
    int64_t more = 0;
    while (read(pipe_ends[0], &more, sizeof(more)) == sizeof(more)) last = more;
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_EQ(Files().size(), 1u);
    const Contents contents = ReadSpool(Files()[0]);
    ASSERT_TRUE(contents.is_whole);
    ASSERT_GE(static_cast<int64_t>(contents.calls.size()), last);
    EXPECT_EQ(contents.calls[last - 1].start_ns, last);
    EXPECT_EQ(contents.header->close_ns.load(), 0);
    std::filesystem::remove_all(directory_);
  }
}

}  // namespace
}  // namespace stallhound::capture::spool
