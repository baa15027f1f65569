#include "capture/spool/reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/testing/temp_dir.h"
#include "capture/spool/format.h"
#include "capture/spool/generate_spool.h"

namespace stallhound::capture {
namespace {

// Counts rows, checks their order, keeps what the tests look at.
class Collector : public CaptureVisitor {
 public:
  absl::Status On(const HostCallBatch& batch) override { return Take(batch, calls); }
  absl::Status On(const KernelBatch& batch) override { return Take(batch, kernels); }
  absl::Status On(const CopyBatch& batch) override { return Take(batch, copies); }
  absl::Status On(const SyncBatch& batch) override { return Take(batch, syncs); }
  absl::Status On(const RangeBatch& batch) override { return Take(batch, ranges); }
  absl::Status On(const FrameBatch& batch) override { return Keep(batch, frames); }
  absl::Status On(const StackFrameBatch& batch) override { return Keep(batch, stack_frames); }
  absl::Status On(const LossBatch& batch) override { return Keep(batch, losses); }
  absl::Status On(const ProcessBatch& batch) override { return Keep(batch, processes); }
  absl::Status On(const ThreadBatch& batch) override { return Keep(batch, threads); }

  int64_t LossCount(LossCounter counter) const {
    int64_t count = 0;
    for (const LossRow& loss : losses) count += loss.counter == counter ? loss.count : 0;
    return count;
  }

  std::vector<HostCallRow> calls;
  std::vector<KernelRow> kernels;
  std::vector<CopyRow> copies;
  std::vector<SyncRow> syncs;
  std::vector<RangeRow> ranges;
  std::vector<FrameRow> frames;
  std::vector<StackFrameRow> stack_frames;
  std::vector<LossRow> losses;
  std::vector<ProcessRow> processes;
  std::vector<ThreadRow> threads;

 private:
  template <typename Batch, typename Row>
  absl::Status Keep(const Batch& batch, std::vector<Row>& rows) {
    for (size_t i = 0; i < batch.size; ++i) rows.push_back(batch.Get(i));
    return absl::OkStatus();
  }
  template <typename Batch, typename Row>
  absl::Status Take(const Batch& batch, std::vector<Row>& rows) {
    for (size_t i = 0; i < batch.size; ++i) {
      if (!rows.empty() && batch.start_ns[i] < rows.back().start_ns) return absl::InternalError("rows out of order");
      rows.push_back(batch.Get(i));
    }
    return absl::OkStatus();
  }
};

class SpoolReaderTest : public ::testing::Test {
 protected:
  std::string Generate(const spool::GeneratedSpool& options) {
    const std::string path = spool::GenerateSpool(temp_.path(), options);
    EXPECT_FALSE(path.empty());
    return path;
  }
  std::unique_ptr<CaptureReader> Open(const std::string& path) {
    auto reader = OpenSpools({path});
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? *std::move(reader) : nullptr;
  }
  testing::TempDir temp_;
};

TEST_F(SpoolReaderTest, ReadsWhatTheRecorderWrote) {
  spool::GeneratedSpool options;
  options.kernel_count = 5000;
  auto reader = Open(Generate(options));
  ASSERT_NE(reader, nullptr);
  for (int again = 0; again < 2; ++again) {
    Collector rows;
    ASSERT_TRUE(reader->Read(AllTables(), rows).ok());
    EXPECT_EQ(rows.kernels.size(), 5000u);
    EXPECT_EQ(rows.copies.size(), 50u);
    EXPECT_EQ(rows.syncs.size(), 50u);
    EXPECT_EQ(rows.calls.size(), 5100u);
    EXPECT_EQ(rows.ranges.size(), 5u);
    ASSERT_EQ(rows.processes.size(), 1u);
    EXPECT_EQ(rows.processes[0].clean_exit, true);
    EXPECT_EQ(rows.processes[0].gpu_clock_error_ns, 0);
    EXPECT_TRUE(rows.losses.empty());
  }
}

TEST_F(SpoolReaderTest, JoinsLaunchesNamesCallsAndResolvesStacks) {
  spool::GeneratedSpool options;
  options.kernel_count = 100;
  auto reader = Open(Generate(options));
  ASSERT_NE(reader, nullptr);
  Collector rows;
  ASSERT_TRUE(reader->Read(AllTables(), rows).ok());
  const KernelRow& kernel = rows.kernels.front();
  ASSERT_TRUE(kernel.launch_start_ns.has_value());
  EXPECT_EQ(kernel.start_ns - *kernel.launch_start_ns, 2'500);
  EXPECT_EQ(*kernel.launch_end_ns - *kernel.launch_start_ns, 3'000);
  EXPECT_EQ(kernel.launch_thread_id, rows.threads[0].thread_id);
  const HostCallRow& wait = rows.calls.back();
  EXPECT_EQ(reader->strings().Get(wait.api), "cudaStreamSynchronize");
  EXPECT_EQ(wait.api_class, ApiClass::kStreamSync);
  ASSERT_TRUE(wait.stack_id.has_value());
  const auto at = std::find_if(rows.stack_frames.begin(), rows.stack_frames.end(),
                               [&](const StackFrameRow& row) { return row.stack_id == *wait.stack_id; });
  ASSERT_NE(at, rows.stack_frames.end());
  const FrameRow& frame = rows.frames[at->frame_id];
  EXPECT_EQ(reader->strings().Get(*frame.file), "train.py");
  EXPECT_EQ(frame.line, 10);
  EXPECT_TRUE(frame.is_user);
}

TEST_F(SpoolReaderTest, SaysThatAProcessWasKilled) {
  spool::GeneratedSpool options;
  options.is_closed = false;
  auto reader = Open(Generate(options));
  ASSERT_NE(reader, nullptr);
  Collector rows;
  ASSERT_TRUE(reader->Read(AllTables(), rows).ok());
  EXPECT_EQ(rows.kernels.size(), 1000u);
  EXPECT_EQ(rows.LossCount(LossCounter::kKilled), 1);
  EXPECT_EQ(rows.processes[0].clean_exit, false);
}

TEST_F(SpoolReaderTest, MergesProcesses) {
  Generate({});
  Generate({});
  auto reader = OpenSpools({temp_.path()});
  ASSERT_TRUE(reader.ok()) << reader.status();
  Collector rows;
  ASSERT_TRUE((*reader)->Read(AllTables(), rows).ok());
  EXPECT_EQ(rows.processes.size(), 2u);
  EXPECT_EQ(rows.kernels.size(), 2000u);
  EXPECT_NE(rows.threads[0].process_id, rows.threads[1].process_id);
}

TEST_F(SpoolReaderTest, WhatOneProcessDidNotRecordIsUnknownOfAll) {
  const auto records = [](const CaptureReader& reader, Table table) {
    return reader.info().recorded.test(static_cast<size_t>(table));
  };
  const std::string usual = Generate({});
  const std::string light = Generate({.mode = spool::Mode::kLight});
  EXPECT_TRUE(records(*Open(usual), Table::kKernel));
  EXPECT_EQ(Open(usual)->info().mode, "default");
  EXPECT_FALSE(records(*Open(light), Table::kKernel));
  EXPECT_EQ(Open(light)->info().mode, "light");
  auto both = OpenSpools({usual, light});
  ASSERT_TRUE(both.ok()) << both.status();
  for (const Table table : {Table::kKernel, Table::kMemset, Table::kCudaEvent, Table::kGraph}) {
    EXPECT_FALSE(records(**both, table)) << static_cast<int>(table);
  }
  for (const Table table : {Table::kHostCall, Table::kCopy, Table::kRange}) {
    EXPECT_TRUE(records(**both, table)) << static_cast<int>(table);
  }
  EXPECT_EQ((*both)->info().mode, "");
  ASSERT_EQ((*both)->info().notes.size(), 1u);
  const std::string pid = std::to_string(getpid());
  EXPECT_NE((*both)->info().notes[0].find("process " + pid + " in mode light, process " + pid + " in mode default"),
            std::string::npos)
      << (*both)->info().notes[0];
  Collector rows;
  ASSERT_TRUE((*both)->Read(AllTables(), rows).ok());
  EXPECT_EQ(rows.kernels.size(), 1000u) << "kept for exports and captures";
}

// A launcher of the ranks, say, has no GPU side that could be missing; one that left CUPTI to another profiler has.
TEST_F(SpoolReaderTest, OnlyAProcessThatUsedCudaLeavesItsTablesOut) {
  const std::string usual = Generate({});
  const std::string other = Generate({.mode = spool::Mode::kLight});
  const auto records_kernels = [&](spool::GpuState state) {
    std::fstream file(other, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(spool::FileHeader, gpu_state));
    file.write(reinterpret_cast<const char*>(&state), sizeof state);
    file.close();
    auto both = OpenSpools({usual, other});
    EXPECT_TRUE(both.ok()) << both.status();
    return both.ok() && (*both)->info().recorded.test(static_cast<size_t>(Table::kKernel));
  };
  EXPECT_TRUE(records_kernels(spool::GpuState::kNotInitialised));
  EXPECT_FALSE(records_kernels(spool::GpuState::kRecording));
  EXPECT_FALSE(records_kernels(spool::GpuState::kYielded));
}

TEST_F(SpoolReaderTest, SurvivesEveryTruncation) {
  spool::GeneratedSpool options;
  options.kernel_count = 1500;
  const std::string whole = Generate(options);
  const auto size = std::filesystem::file_size(whole);
  std::mt19937 random(3);
  std::vector<uintmax_t> cuts = {0, 1, 7, 8, spool::kHeaderBytes - 1, spool::kHeaderBytes};
  for (uintmax_t at = spool::kHeaderBytes; at < size; at += spool::kUnitBytes) {
    cuts.insert(cuts.end(), {at, at + 1, at + sizeof(spool::ChunkHeader), at + sizeof(spool::ChunkHeader) + 8});
  }
  for (int i = 0; i < 1000; ++i) cuts.push_back(random() % size);
  const std::string cut = temp_.File("cut.spool");
  size_t fewest = SIZE_MAX;
  for (const uintmax_t at : cuts) {
    std::filesystem::copy_file(whole, cut, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(cut, at);
    auto reader = OpenSpools({cut});
    if (!reader.ok()) {
      EXPECT_LT(at, spool::kHeaderBytes) << reader.status();
      continue;
    }
    Collector rows;
    ASSERT_TRUE((*reader)->Read(AllTables(), rows).ok()) << at;
    EXPECT_LE(rows.kernels.size(), 1500u);
    if (rows.kernels.size() < 1500) {
      EXPECT_GT(rows.LossCount(LossCounter::kSpoolTruncated), 0) << at;
    }
    fewest = std::min(fewest, rows.kernels.size());
  }
  EXPECT_EQ(fewest, 0u);
}

TEST_F(SpoolReaderTest, SurvivesACutAtEveryRecord) {
  spool::GeneratedSpool options;
  options.kernel_count = 200;
  const std::string whole = Generate(options);
  std::ifstream file(whole, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string cut = temp_.File("cut.spool");
  size_t records = 0;
  for (size_t at = spool::kHeaderBytes; at + spool::kUnitBytes <= bytes.size(); at += spool::kUnitBytes) {
    alignas(spool::ChunkHeader) char head[sizeof(spool::ChunkHeader)];
    std::memcpy(head, bytes.data() + at, sizeof head);
    const auto& chunk = *reinterpret_cast<const spool::ChunkHeader*>(head);
    if (chunk.magic != spool::kChunkMagic || chunk.kind == spool::ChunkKind::kActivity) continue;
    const size_t end = at + sizeof(spool::ChunkHeader) + chunk.committed_bytes.load();
    for (size_t next = at + sizeof(spool::ChunkHeader); next < end; ++records) {
      std::ofstream(cut, std::ios::binary) << std::string_view(bytes).substr(0, next);
      auto reader = OpenSpools({cut});
      ASSERT_TRUE(reader.ok()) << reader.status();
      Collector rows;
      ASSERT_TRUE((*reader)->Read(AllTables(), rows).ok()) << next;
      EXPECT_EQ(rows.LossCount(LossCounter::kCorruptRecord), 0) << next;
      spool::RecordHeader header;
      std::memcpy(&header, bytes.data() + next, sizeof header);
      next += header.bytes;
    }
  }
  EXPECT_GT(records, 400u);
}

TEST_F(SpoolReaderTest, SurvivesFlippedBytes) {
  spool::GeneratedSpool options;
  options.kernel_count = 500;
  const std::string whole = Generate(options);
  std::ifstream file(whole, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::mt19937 random(5);
  const std::string path = temp_.File("flipped.spool");
  for (int round = 0; round < 300; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 40; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    std::ofstream(path, std::ios::binary) << damaged;
    auto reader = OpenSpools({path});
    Collector rows;
    if (!reader.ok()) continue;
    ASSERT_TRUE((*reader)->Read(AllTables(), rows).ok()) << round;
  }
}

TEST_F(SpoolReaderTest, RefusesAHeaderThatDoesNotSayWhatWasRecorded) {
  for (const size_t offset : {offsetof(spool::FileHeader, gpu_state), offsetof(spool::FileHeader, mode)}) {
    const std::string path = Generate({});
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write("\xff\xff\xff\xff", 4);
    file.close();
    const absl::Status status = OpenSpools({path}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_NE(status.message().find("4294967295"), absl::string_view::npos) << status;
    EXPECT_NE(status.message().find(path), absl::string_view::npos) << status;
  }
}

TEST_F(SpoolReaderTest, RefusesWhatIsNoSpool) {
  EXPECT_EQ(OpenSpools({temp_.File("absent")}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenSpools({temp_.path()}).status().code(), absl::StatusCode::kNotFound);
  const std::string text = temp_.Write("text.spool", std::string(20000, 'x'));
  EXPECT_EQ(OpenSpools({text}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(IsSpool(text));
  std::string newer(spool::kHeaderBytes, '\0');
  newer.replace(0, sizeof spool::kFileMagic, spool::kFileMagic, sizeof spool::kFileMagic);
  newer[8] = 99;
  const absl::Status status = OpenSpools({temp_.Write("newer.spool", newer)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("99"), absl::string_view::npos);
}

}  // namespace
}  // namespace stallhound::capture
