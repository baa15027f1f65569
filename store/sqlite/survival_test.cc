#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <random>
#include <set>

#include "base/sqlite/sqlite.h"
#include "base/testing/temp_dir.h"
#include "store/history.h"
#include "store/testing/test_runs.h"

namespace stallhound::store {
namespace {

using testing::FullRun;
using testing::RunUuid;

constexpr int kWriterCount = 8;
constexpr int kRunsPerWriter = 12;
constexpr int kKillCount = 200;

std::string IntegrityOf(const std::string& path) {
  const SqliteConnection connection = OpenSqlite(path, SQLITE_OPEN_READWRITE).value();
  const SqliteStatement statement = PrepareSql(connection.get(), "PRAGMA integrity_check").value();
  if (sqlite3_step(statement.get()) != SQLITE_ROW) return sqlite3_errmsg(connection.get());
  return reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
}

// Starts a process that runs `work` with a pipe's end to write to; returns its id and the end to read from.
template <typename Work>
std::pair<pid_t, int> Start(Work work) {
  int ends[2];
  if (pipe(ends) != 0) ADD_FAILURE() << "pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    work(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  return {child, ends[0]};
}

std::vector<int> ReadNumbers(int fd) {
  std::vector<int> numbers;
  for (int number; read(fd, &number, sizeof number) == sizeof number;) numbers.push_back(number);
  close(fd);
  return numbers;
}

// Appends runs first, first + 1, ... and writes the number of each that was not there before.
void AppendRuns(const std::string& path, int first, int count, int acknowledgements) {
  absl::StatusOr<std::unique_ptr<History>> history = OpenHistory(path, {});
  if (!history.ok()) {
    fprintf(stderr, "%s\n", history.status().ToString().c_str());
    _exit(1);
  }
  for (int number = first; number < first + count; ++number) {
    const absl::StatusOr<AppendResult> result = (*history)->AppendRun(FullRun(number));
    if (!result.ok()) {
      fprintf(stderr, "%s\n", result.status().ToString().c_str());
      _exit(1);
    }
    if (*result == AppendResult::kAlreadyThere) continue;
    if (write(acknowledgements, &number, sizeof number) != sizeof number) _exit(1);
  }
}

// Every writer makes the file at first, and each run is appended by two of them: one is told that it is there.
TEST(Survival, EightWritersAtOnce) {
  const testing::TempDir folder;
  const std::string path = folder.File("history.db");
  std::vector<std::pair<pid_t, int>> writers;
  for (int i = 0; i < kWriterCount; ++i) {
    const int first = i / 2 * kRunsPerWriter;
    writers.push_back(Start([&](int fd) { AppendRuns(path, first, kRunsPerWriter, fd); }));
  }
  std::multiset<int> appended;
  for (const auto& [child, fd] : writers) {
    for (const int number : ReadNumbers(fd)) appended.insert(number);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  const std::unique_ptr<History> history = OpenHistory(path, {Access::kRead}).value();
  for (int number = 0; number < kWriterCount / 2 * kRunsPerWriter; ++number) {
    EXPECT_EQ(appended.count(number), 1u) << number;
    EXPECT_EQ(history->ReadRun(RunUuid(number)).value(), FullRun(number));
  }
  EXPECT_EQ(IntegrityOf(path), "ok");
}

TEST(Survival, KilledTwoHundredTimes) {
  const testing::TempDir folder;
  const std::string path = folder.File("history.db");
  ASSERT_TRUE(OpenHistory(path, {}).ok());
  std::mt19937 random(20261130);  // NOLINT(bugprone-random-generator-seed)
  std::uniform_int_distribution<int> delay_us(0, 12'000);
  std::set<int> acknowledged;
  int first = 0;
  int journal_count = 0;
  for (int i = 0; i < kKillCount; ++i) {
    const auto [child, fd] = Start([&, first = first](int end) { AppendRuns(path, first, 1'000'000, end); });
    // Kills begin with the first acknowledgement, so that most hit a transaction and not the start.
    int number = 0;
    ASSERT_EQ(read(fd, &number, sizeof number), static_cast<ssize_t>(sizeof number));
    acknowledged.insert(number);
    usleep(static_cast<useconds_t>(delay_us(random)));
    kill(child, SIGKILL);
    for (const int later : ReadNumbers(fd)) acknowledged.insert(later);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "ended by itself: " << status;
    // What it left in the middle of a commit.
    struct stat journal {};
    if (stat((path + "-journal").c_str(), &journal) == 0 && journal.st_size > 0) ++journal_count;
    first = *acknowledged.rbegin() + 1;
  }
  EXPECT_GE(journal_count, 20) << "too few kills hit a commit to say anything";
  EXPECT_GE(acknowledged.size(), size_t{kKillCount});
  const std::unique_ptr<History> history = OpenHistory(path, {}).value();
  EXPECT_EQ(IntegrityOf(path), "ok");
  for (const int number : acknowledged) {
    EXPECT_EQ(history->ReadRun(RunUuid(number)).value(), FullRun(number)) << "acknowledged and lost";
  }
  // A commit without its acknowledgement may be there, but whole.
  const std::vector<RunInfo> runs = history->LastRuns({.limit = 1'000'000}).value();
  for (const RunInfo& info : runs) {
    const int number = std::stoi(info.uuid.substr(0, 8), nullptr, 16);
    EXPECT_EQ(history->ReadRun(info.uuid).value(), FullRun(number));
  }
}

}  // namespace
}  // namespace stallhound::store
