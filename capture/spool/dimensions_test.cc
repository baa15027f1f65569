#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    strings_ = &(*reader)->strings();
    EXPECT_TRUE((*reader)->Read(Tables({Table::kProcess, Table::kEnvironment, Table::kDevice}), *this).ok());
  }

  absl::Status On(const ProcessBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) processes_.push_back(batch.Get(i));
    return absl::OkStatus();
  }
  absl::Status On(const EnvironmentBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      environment_.emplace_back(strings_->Get(batch.key[i]), strings_->Get(batch.value[i]));
    }
    return absl::OkStatus();
  }

  testing::TempDir folder_;
  SpoolWriter writer_;
  const StringTable* strings_ = nullptr;
  std::vector<ProcessRow> processes_;
  std::vector<std::pair<std::string, std::string>> environment_;
};

TEST_F(DimensionsTest, OfAKeyWrittenTwiceTheLastValueCounts) {
  Write({{"library.cudart", "12.4"}, {"env.RANK", "1"}, {"library.cudart", "13.0"}, {"env.RANK", "3"}});
  Read();
  EXPECT_THAT(environment_, ElementsAre(Pair("library.cudart", "13.0"), Pair("env.RANK", "3")));
  ASSERT_EQ(processes_.size(), 1u);
  EXPECT_EQ(processes_[0].rank, 3) << "all readers see the same value";
}

}  // namespace
}  // namespace stallhound::capture::spool
