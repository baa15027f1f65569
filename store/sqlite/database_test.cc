#include "store/sqlite/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "store/sqlite/sqlite_history.h"
#include "store/testing/test_runs.h"

namespace stallhound::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFirstSql[] = "CREATE TABLE schema_migration (version BIGINT, name TEXT, sha256 TEXT)";
constexpr Migration kFirst{1, "0001_first.sql", "aaaa", kFirstSql};
constexpr Migration kSecond{2, "0002_second.sql", "bbbb",
                            "CREATE TABLE extra (a BIGINT); INSERT INTO extra VALUES (7)"};
constexpr Migration kBroken{2, "0002_broken.sql", "cccc",
                            "CREATE TABLE extra (a BIGINT); INSERT INTO nowhere VALUES (7)"};

// A connection of somebody else.
class Other {
 public:
  explicit Other(const std::string& path)
      : connection_(OpenSqlite(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).value()) {}
  void Execute(const std::string& sql) {
    const absl::Status status = ExecuteSql(connection_.get(), sql);
    ASSERT_TRUE(status.ok()) << status;
  }
  int64_t Number(const std::string& sql) {
    const SqliteStatement statement = PrepareSql(connection_.get(), sql).value();
    return sqlite3_step(statement.get()) == SQLITE_ROW ? sqlite3_column_int64(statement.get(), 0) : -1;
  }

 private:
  SqliteConnection connection_;
};

class DatabaseTest : public ::testing::Test {
 protected:
  absl::Status Open(std::vector<Migration> migrations, Access access = Access::kAppend) {
    return Database::Open({path_, {access, 100}, migrations}).status();
  }
  std::string Content() { return ReadFile(path_).value(); }

  // The error has this code and names the file and these causes; the file's bytes are as before.
  void ExpectRefused(absl::StatusCode code, const std::string& cause, const std::function<absl::Status()>& action) {
    const std::string before = Content();
    const absl::Status status = action();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path_), HasSubstr(cause)));
    EXPECT_EQ(Content(), before);
    EXPECT_FALSE(std::filesystem::exists(path_ + "-journal"));
  }

  testing::TempDir folder_;
  std::string path_ = folder_.File("history.db");
};

TEST_F(DatabaseTest, MigratesStepByStep) {
  ASSERT_TRUE(Open({kFirst}).ok());
  EXPECT_EQ(Other(path_).Number("PRAGMA user_version"), 1);
  ASSERT_TRUE(Open({kFirst, kSecond}).ok());
  ASSERT_TRUE(Open({kFirst, kSecond}).ok());
  Other other(path_);
  EXPECT_EQ(other.Number("PRAGMA user_version"), 2);
  EXPECT_EQ(other.Number("SELECT COUNT(*) FROM extra"), 1) << "applied once";
  EXPECT_EQ(other.Number("SELECT COUNT(*) FROM schema_migration WHERE sha256 = 'bbbb'"), 1);
}

TEST_F(DatabaseTest, LeavesNothingOfAMigrationThatFails) {
  ASSERT_TRUE(Open({kFirst}).ok());
  ExpectRefused(absl::StatusCode::kInvalidArgument, "nowhere", [&] { return Open({kFirst, kBroken}); });
  ASSERT_TRUE(Open({kFirst, kSecond}).ok());
}

TEST_F(DatabaseTest, RefusesANewerSchema) {
  ASSERT_TRUE(Open({kFirst, kSecond}).ok());
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "its schema is version 2, this stallhound knows up to 1",
                [&] { return Open({kFirst}); });
}

TEST_F(DatabaseTest, ReadsNoOlderSchema) {
  ASSERT_TRUE(Open({kFirst}).ok());
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "its schema is version 1, this stallhound reads 2", [&] {
    return Open({kFirst, kSecond}, Access::kRead);
  });
}

TEST_F(DatabaseTest, RefusesAMigrationThatDiffers) {
  ASSERT_TRUE(Open({kFirst}).ok());
  Migration changed = kFirst;
  changed.sha256 = "ffff";
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "another 0001_first.sql (SHA-256 aaaa, here ffff)", [&] {
    return Open({changed, kSecond});
  });
}

TEST_F(DatabaseTest, RefusesWhatIsNoDatabase) {
  folder_.Write("history.db", "name,value\nthis,1\n" + std::string(2000, 'x'));
  ExpectRefused(absl::StatusCode::kInvalidArgument, "not an SQLite database", [&] { return Open({kFirst}); });
  ExpectRefused(absl::StatusCode::kInvalidArgument, "not an SQLite database",
                [&] { return Open({kFirst}, Access::kRead); });
}

TEST_F(DatabaseTest, RefusesADatabaseOfSomethingElse) {
  Other(path_).Execute("CREATE TABLE bookmark (url TEXT)");
  ExpectRefused(absl::StatusCode::kInvalidArgument, "database of something else", [&] { return Open({kFirst}); });
}

TEST_F(DatabaseTest, ReportsDamage) {
  ASSERT_TRUE(Open({kFirst}).ok());
  std::string content = Content();
  content.replace(100, 100, 100, '\xee');
  folder_.Write("history.db", content);
  ExpectRefused(absl::StatusCode::kDataLoss, "damaged", [&] { return Open({kFirst}); });
}

TEST_F(DatabaseTest, TakesAnEmptyFileForANewOneAndMakesFolders) {
  folder_.Write("history.db", "");
  EXPECT_TRUE(Open({kFirst}).ok());
  path_ = folder_.File("new/folder/history.db");
  EXPECT_EQ(Open({kFirst}, Access::kRead).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("new")));
  EXPECT_TRUE(Open({kFirst}).ok());
}

TEST_F(DatabaseTest, AFolderThatCannotBeEnteredIsNoMissingHistory) {
  std::filesystem::create_directory_symlink("loop", folder_.File("loop"));
  path_ = folder_.File("loop/history.db");
  const absl::Status status = Open({kFirst}, Access::kRead);
  EXPECT_FALSE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("loop/history.db': Too many levels of symbolic links"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("makes it")));
}

TEST_F(DatabaseTest, RefusesNetworkFileSystemsForWriting) {
  const auto open = [&](int64_t type, Access access) {
    return Database::Open({path_, {access, 100}, std::span(&kFirst, 1), type});
  };
  const absl::Status refused = open(NFS_SUPER_MAGIC, Access::kAppend).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("it lies on NFS"), HasSubstr("STALLHOUND_HOME")));
  EXPECT_FALSE(std::filesystem::exists(path_));

  const absl::StatusOr<Database> doubtful = open(FUSE_SUPER_MAGIC, Access::kAppend);
  ASSERT_TRUE(doubtful.ok()) << doubtful.status();
  EXPECT_THAT(doubtful->warnings(), ::testing::ElementsAre(HasSubstr("FUSE")));
  EXPECT_THAT(open(NFS_SUPER_MAGIC, Access::kRead)->warnings(), ::testing::ElementsAre(HasSubstr("NFS")));
  EXPECT_TRUE(open(EXT4_SUPER_MAGIC, Access::kAppend)->warnings().empty());
}

class FaultTest : public DatabaseTest {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<History>> history = OpenHistory(path_, {Access::kAppend, 100});
    ASSERT_TRUE(history.ok()) << history.status();
    history_ = *std::move(history);
    ASSERT_EQ(*history_->AppendRun(testing::FullRun(0)), AppendResult::kAppended);
  }

  void ExpectWhole(std::vector<int> numbers) {
    EXPECT_EQ(Other(path_).Number("SELECT COUNT(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
    EXPECT_EQ(Other(path_).Number("SELECT COUNT(*) FROM run"), static_cast<int64_t>(numbers.size()));
    for (const int number : numbers) EXPECT_EQ(*history_->ReadRun(testing::RunUuid(number)), testing::FullRun(number));
  }

  std::unique_ptr<History> history_;
};

TEST_F(FaultTest, SaysWhenAnotherWriterHoldsItTooLong) {
  Other other(path_);
  other.Execute("BEGIN IMMEDIATE");
  ExpectRefused(absl::StatusCode::kUnavailable, "more than 100 ms",
                [&] { return history_->AppendRun(testing::FullRun(1)).status(); });
  EXPECT_TRUE(history_->ReadRun(testing::RunUuid(0)).ok()) << "readers go on";
  other.Execute("COMMIT; BEGIN EXCLUSIVE");
  ExpectRefused(absl::StatusCode::kUnavailable, "more than 100 ms", [&] { return Open({kFirst}); });
  ExpectRefused(absl::StatusCode::kUnavailable, "more than 100 ms",
                [&] { return history_->ReadRun(testing::RunUuid(0)).status(); });
  other.Execute("COMMIT");
  EXPECT_EQ(*history_->AppendRun(testing::FullRun(1)), AppendResult::kAppended);
  ExpectWhole({0, 1});
}

TEST_F(FaultTest, GivesACommitBackThatAReaderBlocks) {
  Other other(path_);
  other.Execute("BEGIN; SELECT * FROM run");
  const absl::Status status = history_->AppendRun(testing::FullRun(1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  other.Execute("COMMIT");
  ExpectWhole({0});
  EXPECT_EQ(*history_->AppendRun(testing::FullRun(1)), AppendResult::kAppended);
}

// A limit on file sizes stops SQLite's writes as a full disk does; the transaction is larger than its page cache, so
// that the file itself has grown before the error.
TEST_F(FaultTest, GivesAllBackWhenTheDiskIsFull) {
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit old_limit = limit;
  const std::string before = Content();
  int failure_count = 0;
  for (const size_t room : {0, 4096, 100'000, 400'000, 2'500'000}) {
    limit.rlim_cur = before.size() + room;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const absl::Status status = history_->AppendRun(testing::FullRun(1, 4000)).status();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << room << ": " << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path_), HasSubstr("free space")));
    EXPECT_EQ(Content(), before) << room;
    ++failure_count;
  }
  signal(SIGXFSZ, old_handler);
  EXPECT_EQ(failure_count, 5);
  EXPECT_EQ(*history_->AppendRun(testing::FullRun(1)), AppendResult::kAppended);
  ExpectWhole({0, 1});
}

// Root may write everything unless it gives that up.
void DropFileCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capset, &header, data) != 0) _exit(99);
}

// Runs `action` in a process without capabilities; its status, as text.
std::string WithoutCapabilities(const std::function<absl::Status()>& action) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe failed";
  if (fork() == 0) {
    DropFileCapabilities();
    const std::string text = action().ToString();
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  return text.substr(0, static_cast<size_t>(std::max<ssize_t>(size, 0)));
}

TEST_F(FaultTest, ReadsButDoesNotAppendToAReadOnlyFile) {
  history_.reset();
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  EXPECT_THAT(WithoutCapabilities([&] { return OpenHistory(path_, {}).status(); }),
              AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr(path_), HasSubstr("the file cannot be written")));
  EXPECT_EQ(WithoutCapabilities([&] {
              absl::StatusOr<std::unique_ptr<History>> reader = OpenHistory(path_, {Access::kRead});
              return reader.ok() ? (*reader)->ReadRun(testing::RunUuid(0)).status() : reader.status();
            }),
            "OK");
}

TEST_F(FaultTest, SaysThatTheFolderIsReadOnly) {
  history_.reset();
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  EXPECT_THAT(WithoutCapabilities([&] {
                absl::StatusOr<std::unique_ptr<History>> history = OpenHistory(path_, {});
                return history.ok() ? (*history)->AppendRun(testing::FullRun(1)).status() : history.status();
              }),
              AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("its folder"), HasSubstr(folder_.path())));
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
}

}  // namespace
}  // namespace stallhound::store
