#include "capture/file/capture_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/sqlite/sqlite.h"
#include "base/testing/temp_dir.h"
#include "capture/testing/memory_capture.h"

namespace stallhound::capture {
namespace {

// Fills columns with values that differ by column and row; optional columns are empty in every second row.
struct Filler {
  int64_t next;
  bool has_optional;
  MemoryCapture& capture;

  void operator()(const char* name, StringId& value) { value = capture.Intern(name + std::to_string(next++ % 7)); }
  void operator()(const char*, double& value) { value = 0.5 * static_cast<double>(next++); }
  void operator()(const char*, bool& value) { value = next++ % 2 == 0; }
  template <typename T>
  void operator()(const char*, T& value) {
    value = static_cast<T>(std::is_enum_v<T> ? next++ % 2 : next++);
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) {
    if (has_optional) (*this)(name, value.emplace());
  }
};

void FillEveryTable(MemoryCapture& capture) {
#define SH_FILL(Type, table, COLUMNS)                \
  for (int i = 0; i < 3; ++i) {                      \
    Type##Row row;                                   \
    Filler filler{100 * i + 1, i % 2 == 0, capture}; \
    Type##Row::ForEachColumn(row, filler);           \
    capture.Add(row);                                \
  }
  SH_CAPTURE_TABLES(SH_FILL)
#undef SH_FILL
  capture.mutable_info().uuid = "0123456789abcdef";
  capture.mutable_info().mode = "default";
  capture.mutable_info().epoch_ns = 1'700'000'000'000'000'000;
  capture.mutable_info().end_ns = 12345;
  capture.mutable_info().notes = {"first note", "second note"};
  capture.mutable_info().recorded.reset(static_cast<size_t>(Table::kOverhead));
}

// All rows of a recording as text, strings resolved.
class Dump : public CaptureVisitor {
 public:
  explicit Dump(const StringTable& strings) : strings_(strings) {}
#define SH_DUMP(Type, table, COLUMNS)                                                             \
  absl::Status On(const Type##Batch& batch) override {                                            \
    for (size_t i = 0; i < batch.size; ++i) {                                                     \
      text += #table ":";                                                                         \
      batch.ForEachColumn([&](const char* name, const auto& column) { Value(name, column[i]); }); \
      text += "\n";                                                                               \
    }                                                                                             \
    return absl::OkStatus();                                                                      \
  }
  SH_CAPTURE_TABLES(SH_DUMP)
#undef SH_DUMP
  std::string text;

 private:
  template <typename T>
  void Value(const char* name, const std::optional<T>& value) {
    if (value.has_value()) Value(name, *value);
  }
  void Value(const char* name, StringId id) { text += std::string(" ") + name + "=" + std::string(strings_.Get(id)); }
  template <typename T>
  void Value(const char* name, const T& value) {
    text += std::string(" ") + name + "=" + std::to_string(static_cast<double>(value));
  }
  const StringTable& strings_;
};

std::string DumpOf(CaptureReader& reader) {
  Dump dump(reader.strings());
  EXPECT_TRUE(reader.Read(AllTables(), dump).ok());
  return dump.text;
}

class CaptureFileTest : public ::testing::Test {
 protected:
  CaptureFileTest() { FillEveryTable(capture_); }
  std::string Path(const char* name) { return temp_.File(name); }
  bool HasTemporaryFiles() {
    for (const auto& entry : std::filesystem::directory_iterator(temp_.path())) {
      if (entry.path().extension() == ".tmp") return true;
    }
    return false;
  }
  testing::TempDir temp_;
  MemoryCapture capture_;
};

TEST_F(CaptureFileTest, StatesAChecksumOfItsContent) {
  for (const char* name : {"a.stallhound", "b.stallhound"}) ASSERT_TRUE(WriteCaptureFile(capture_, Path(name)).ok());
  capture_.mutable_kernel().front().end_ns += 1;
  ASSERT_TRUE(WriteCaptureFile(capture_, Path("c.stallhound")).ok());
  const absl::StatusOr<std::string> checksum = CaptureChecksum(Path("a.stallhound"));
  ASSERT_TRUE(checksum.ok()) << checksum.status();
  EXPECT_EQ(checksum->size(), 16u);
  EXPECT_EQ(*CaptureChecksum(Path("b.stallhound")), *checksum);
  EXPECT_NE(*CaptureChecksum(Path("c.stallhound")), *checksum);
  EXPECT_TRUE(absl::IsNotFound(CaptureChecksum(Path("none")).status()));
}

TEST_F(CaptureFileTest, KeepsEveryColumnOfEveryTable) {
  const std::string path = Path("a.stallhound");
  ASSERT_TRUE(WriteCaptureFile(capture_, path).ok());
  EXPECT_TRUE(IsCaptureFile(path));
  auto reader = OpenCaptureFile(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(DumpOf(**reader), DumpOf(capture_));
  const CaptureInfo& info = (*reader)->info();
  EXPECT_EQ(info.uuid, "0123456789abcdef");
  EXPECT_EQ(info.mode, "default");
  EXPECT_EQ(info.epoch_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(info.end_ns, 12345);
  EXPECT_EQ(info.notes, (std::vector<std::string>{"first note", "second note"}));
  EXPECT_EQ(info.recorded, capture_.info().recorded);
}

TEST_F(CaptureFileTest, ViewsShowTexts) {
  const std::string path = Path("a.stallhound");
  ASSERT_TRUE(WriteCaptureFile(capture_, path).ok());
  auto connection = OpenSqlite(path, SQLITE_OPEN_READONLY);
  ASSERT_TRUE(connection.ok());
  auto select = PrepareSql(connection->get(), "SELECT api, layer FROM v_host_call WHERE start_ns = 1");
  ASSERT_TRUE(select.ok()) << select.status();
  ASSERT_EQ(sqlite3_step(select->get()), SQLITE_ROW);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(sqlite3_column_text(select->get(), 0))).substr(0, 3), "api");
  EXPECT_EQ(sqlite3_column_type(select->get(), 1), SQLITE_TEXT);
}

TEST_F(CaptureFileTest, CancellingKeepsTheOldFileAndLeavesNoTemporaryOne) {
  const std::string path = Path("a.stallhound");
  std::ofstream(path) << "old";
  for (int i = 0; i < 70000; ++i) capture_.Add(MemsetRow{});
  EXPECT_EQ(WriteCaptureFile(capture_, path, [](uint64_t) { return false; }).code(), absl::StatusCode::kCancelled);
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "old");
  EXPECT_FALSE(HasTemporaryFiles());
}

TEST_F(CaptureFileTest, IsAsPrivateAsASpool) {
  const std::string path = Path("private.stallhound");
  std::ofstream(path) << "an older capture, open to all";
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  const mode_t previous = umask(0);
  const absl::Status written = WriteCaptureFile(capture_, path);
  umask(previous);
  ASSERT_TRUE(written.ok()) << written;
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(CaptureFileTest, RefusesWhatIsNoCapture) {
  EXPECT_EQ(OpenCaptureFile(Path("absent")).status().code(), absl::StatusCode::kNotFound);
  std::ofstream(Path("text")) << std::string(5000, 'x');
  EXPECT_EQ(OpenCaptureFile(Path("text")).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(IsCaptureFile(Path("text")));
  auto other = OpenSqlite(Path("other.db"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  ASSERT_TRUE(other.ok() && ExecuteSql(other->get(), "CREATE TABLE t (a)").ok());
  const absl::Status status = OpenCaptureFile(Path("other.db")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("not a capture"), absl::string_view::npos) << status;
}

TEST_F(CaptureFileTest, RefusesANewerSchema) {
  const std::string path = Path("a.stallhound");
  ASSERT_TRUE(WriteCaptureFile(capture_, path).ok());
  {
    auto connection = OpenSqlite(path, SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(ExecuteSql(connection->get(), "PRAGMA user_version = 999").ok());
  }
  const absl::Status status = OpenCaptureFile(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("999"), absl::string_view::npos);
}

TEST_F(CaptureFileTest, ChangesInAWriteAheadLogAreNotOverlooked) {
  const std::string path = Path("a.stallhound");
  ASSERT_TRUE(WriteCaptureFile(capture_, path).ok());
  {
    auto writer = OpenSqlite(path, SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(ExecuteSql(writer->get(), "PRAGMA journal_mode = WAL; DELETE FROM kernel").ok());
    const absl::Status status = OpenCaptureFile(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("a.stallhound-wal"), absl::string_view::npos) << status;
    EXPECT_NE(status.message().find("PRAGMA journal_mode = DELETE"), absl::string_view::npos) << status;
  }
  ASSERT_FALSE(std::filesystem::exists(path + "-wal")) << "closing folded it in";
  auto reader = OpenCaptureFile(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(DumpOf(**reader).find("kernel:"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path + "-shm"));
}

TEST_F(CaptureFileTest, AFifoIsNoCaptureAndIsNotWaitedFor) {
  const std::string fifo = Path("fifo.stallhound");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(IsCaptureFile(fifo));
  const absl::Status status = OpenCaptureFile(fifo).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("not a regular file"), absl::string_view::npos) << status;
}

TEST_F(CaptureFileTest, ATruncatedFileIsAnErrorNeverACrash) {
  const std::string path = Path("a.stallhound");
  ASSERT_TRUE(WriteCaptureFile(capture_, path).ok());
  const auto size = std::filesystem::file_size(path);
  for (uintmax_t keep = 0; keep < size; keep += 65536) {
    const std::string cut = Path("cut.stallhound");
    std::filesystem::copy_file(path, cut, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(cut, keep);
    auto reader = OpenCaptureFile(cut);
    CaptureVisitor ignore;
    EXPECT_FALSE(reader.ok() && (*reader)->Read(AllTables(), ignore).ok()) << keep;
  }
}

TEST_F(CaptureFileTest, ColumnsThatAnOlderFileLacksAreUnknown) {
  const std::string path = Path("a.stallhound");
  ASSERT_TRUE(WriteCaptureFile(capture_, path).ok());
  {
    auto connection = OpenSqlite(path, SQLITE_OPEN_READWRITE);
    for (const char* sql :
         {"DROP VIEW v_range", "ALTER TABLE range DROP COLUMN sequence", "ALTER TABLE range DROP COLUMN stack_id"}) {
      ASSERT_TRUE(ExecuteSql(connection->get(), sql).ok()) << sql;
    }
  }
  for (RangeRow& row : capture_.mutable_range()) {
    row.sequence.reset();
    row.stack_id.reset();
  }
  auto reader = OpenCaptureFile(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(DumpOf(**reader), DumpOf(capture_));
}

TEST_F(CaptureFileTest, AStringOutsideTheTableIsDataLoss) {
  const std::string path = Path("a.stallhound");
  ASSERT_TRUE(WriteCaptureFile(capture_, path).ok());
  {
    auto connection = OpenSqlite(path, SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(ExecuteSql(connection->get(), "UPDATE host_call SET api = 4000000").ok());
  }
  auto reader = OpenCaptureFile(path);
  ASSERT_TRUE(reader.ok());
  CaptureVisitor ignore;
  EXPECT_EQ((*reader)->Read(AllTables(), ignore).code(), absl::StatusCode::kDataLoss);
}

TEST_F(CaptureFileTest, AnEnumerationOutsideItsRangeIsDataLoss) {
  const std::string path = Path("a.stallhound");
  for (const char* value : {"-1", "255", "65536", "9223372036854775807"}) {
    for (const char* target : {"loss SET counter", "host_call SET layer", "copy SET source_kind"}) {
      ASSERT_TRUE(WriteCaptureFile(capture_, path).ok());
      {
        auto connection = OpenSqlite(path, SQLITE_OPEN_READWRITE);
        ASSERT_TRUE(ExecuteSql(connection->get(), std::string("UPDATE ") + target + " = " + value).ok());
      }
      auto reader = OpenCaptureFile(path);
      ASSERT_TRUE(reader.ok());
      CaptureVisitor ignore;
      const absl::Status status = (*reader)->Read(AllTables(), ignore);
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << target << value;
      EXPECT_NE(status.message().find(std::string(" is ") + value + ","), absl::string_view::npos) << status;
    }
  }
}

TEST_F(CaptureFileTest, AMissingFolderIsAnErrorThatNamesThePath) {
  const absl::Status status = WriteCaptureFile(capture_, "/nonexistent/a.stallhound");
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("/nonexistent"), absl::string_view::npos);
}

}  // namespace
}  // namespace stallhound::capture
