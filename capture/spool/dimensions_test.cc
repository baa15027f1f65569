#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temp_dir.h"
#include "capture/spool/reader.h"
#include "capture/spool/writer.h"

namespace stallhound::capture::spool {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// The small tables of a spool into which a test writes a fingerprint.
class DimensionsTest : public ::testing::Test, public CaptureVisitor {
 protected:
  using CaptureVisitor::On;

  DimensionsTest() {
    WriterOptions options;
    options.directory = folder_.path().c_str();
    options.now_ns = [] { return int64_t{1'000'000'000}; };
    EXPECT_TRUE(writer_.Configure(options) && writer_.EnsureOpen());
  }

  void Write(const std::vector<std::pair<std::string, std::string>>& facts) {
    for (const auto& [key, value] : facts) writer_.AddKeyValue(key, value);
  }

  void Read() {
    writer_.Close();
    auto reader = OpenSpools({writer_.path()});
    ASSERT_TRUE(reader.ok()) << reader.status();
    reader_ = *std::move(reader);
    EXPECT_TRUE(reader_->Read(Tables({Table::kProcess, Table::kEnvironment, Table::kDevice}), *this).ok());
  }

  absl::Status On(const ProcessBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) processes_.push_back(batch.Get(i));
    return absl::OkStatus();
  }
  absl::Status On(const EnvironmentBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      environment_.emplace_back(reader_->strings().Get(batch.key[i]), reader_->strings().Get(batch.value[i]));
    }
    return absl::OkStatus();
  }
  absl::Status On(const DeviceBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) devices_.push_back(batch.Get(i));
    return absl::OkStatus();
  }

  testing::TempDir folder_;
  SpoolWriter writer_;
  std::unique_ptr<CaptureReader> reader_;
  std::vector<ProcessRow> processes_;
  std::vector<std::pair<std::string, std::string>> environment_;
  std::vector<DeviceRow> devices_;
};

TEST_F(DimensionsTest, OfAKeyWrittenTwiceTheLastValueCounts) {
  Write({{"library.cudart", "12.4"}, {"env.RANK", "1"}, {"library.cudart", "13.0"}, {"env.RANK", "3"}});
  Read();
  EXPECT_THAT(environment_, ElementsAre(Pair("library.cudart", "13.0"), Pair("env.RANK", "3")));
  ASSERT_EQ(processes_.size(), 1u);
  EXPECT_EQ(processes_[0].rank, 3) << "all readers see the same value";
}

TEST_F(DimensionsTest, TheOnlyGpuIsTheDevice) {
  Write({{"gpu.count", "1"},
         {"gpu.0.name", "NVIDIA H200"},
         {"gpu.0.sm_count", "132"},
         {"gpu.0.memory_bytes", "150754820096"},
         {"gpu.0.compute_capability", "9.0"},
         {"gpu.0.mig", "0"}});
  Read();
  ASSERT_EQ(devices_.size(), 1u);
  EXPECT_EQ(reader_->strings().Get(devices_[0].name.value()), "NVIDIA H200");
  EXPECT_EQ(devices_[0].sm_count, 132);
  EXPECT_EQ(devices_[0].memory_bytes, 150'754'820'096);
  EXPECT_EQ(devices_[0].compute_major, 9);
  EXPECT_EQ(devices_[0].compute_minor, 0);
}

TEST_F(DimensionsTest, OfSeveralGpusOnlyWhatAllShareIsKnownOfADevice) {
  Write({{"gpu.count", "2"},
         {"gpu.0.name", "Tesla T4"},
         {"gpu.0.sm_count", "40"},
         {"gpu.0.compute_capability", "7.5"},
         {"gpu.0.memory_bytes", "16106127360"},
         {"gpu.1.name", "NVIDIA A100-PCIE-40GB"},
         {"gpu.1.sm_count", "108"},
         {"gpu.1.memory_bytes", "16106127360"}});
  Read();
  ASSERT_EQ(devices_.size(), 2u);
  for (const DeviceRow& device : devices_) {
    EXPECT_EQ(device.device_id, static_cast<uint32_t>(&device - devices_.data()));
    EXPECT_EQ(device.name, std::nullopt) << "CUDA may call either device 0";
    EXPECT_EQ(device.sm_count, std::nullopt);
    EXPECT_EQ(device.compute_major, std::nullopt) << "unknown of one";
    EXPECT_EQ(device.memory_bytes, 16'106'127'360);
  }
}

TEST_F(DimensionsTest, ASliceIsNotAsLargeAsItsGpu) {
  Write({{"gpu.count", "1"},
         {"gpu.0.name", "NVIDIA H200"},
         {"gpu.0.sm_count", "132"},
         {"gpu.0.memory_bytes", "150754820096"},
         {"gpu.0.compute_capability", "9.0"},
         {"gpu.0.mig", "1"}});
  Read();
  ASSERT_EQ(devices_.size(), 1u);
  EXPECT_TRUE(devices_[0].name.has_value());
  EXPECT_EQ(devices_[0].sm_count, std::nullopt);
  EXPECT_EQ(devices_[0].memory_bytes, std::nullopt);
  EXPECT_EQ(devices_[0].compute_major, 9);
}

}  // namespace
}  // namespace stallhound::capture::spool
