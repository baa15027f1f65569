#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/testing/temp_dir.h"

namespace stallhound {
namespace {

using ::testing::HasSubstr;

size_t FileCount(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

TEST(FileTest, WritesAndReadsBackAnyBytes) {
  testing::TempDir folder;
  const std::string content(200'000, '\0');
  ASSERT_TRUE(WriteFileAtomically(folder.File("a"), content).ok());
  EXPECT_EQ(*ReadFile(folder.File("a")), content);
  ASSERT_TRUE(WriteFileAtomically(folder.File("a"), "new").ok());
  EXPECT_EQ(*ReadFile(folder.File("a")), "new");
  EXPECT_EQ(FileCount(folder.path()), 1u);
}

TEST(FileTest, HasTheModeOfAnOrdinaryFile) {
  testing::TempDir folder;
  const mode_t previous = umask(022);
  ASSERT_TRUE(WriteFileAtomically(folder.File("a"), "x").ok());
  umask(previous);
  struct stat status {};
  ASSERT_EQ(stat(folder.File("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(FileTest, AFileThatExistsKeepsItsMode) {
  testing::TempDir folder;
  folder.Write("a", "old");
  ASSERT_EQ(chmod(folder.File("a").c_str(), 0600), 0);
  ASSERT_TRUE(WriteFileAtomically(folder.File("a"), "new").ok());
  struct stat status {};
  ASSERT_EQ(stat(folder.File("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(*ReadFile(folder.File("a")), "new");
}

TEST(FileTest, ReadsNoMoreThanAsked) {
  testing::TempDir folder;
  folder.Write("a", "12345");
  EXPECT_EQ(*ReadFile(folder.File("a"), 5), "12345");
  EXPECT_TRUE(absl::IsOutOfRange(ReadFile(folder.File("a"), 4).status()));
  EXPECT_TRUE(absl::IsOutOfRange(ReadFile("/dev/zero", 1 << 20).status()));
}

TEST(FileTest, TheSameFileHasManyNames) {
  testing::TempDir folder;
  folder.Write("a", "x");
  folder.Write("b", "x");
  std::filesystem::create_symlink("a", folder.File("link"));
  std::filesystem::create_hard_link(folder.File("a"), folder.File("hard"));
  EXPECT_TRUE(IsSameFile(folder.File("a"), folder.File("link")));
  EXPECT_TRUE(IsSameFile(folder.File("hard"), folder.path() + "/./a"));
  EXPECT_FALSE(IsSameFile(folder.File("a"), folder.File("b")));
  EXPECT_FALSE(IsSameFile(folder.File("none"), folder.File("none")));
}

TEST(FileTest, LinksAreFollowed) {
  testing::TempDir folder;
  folder.Write("a", "old");
  std::filesystem::create_symlink("a", folder.File("to_a"));
  std::filesystem::create_symlink("b", folder.File("to_nothing"));
  ASSERT_TRUE(WriteFileAtomically(folder.File("to_a"), "new").ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("to_nothing"), "first").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("to_a")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("to_nothing")));
  EXPECT_EQ(*ReadFile(folder.File("a")), "new");
  EXPECT_EQ(*ReadFile(folder.File("b")), "first");
}

TEST(FileTest, WhatIsNoRegularFileIsWrittenInto) {
  testing::TempDir folder;
  ASSERT_EQ(mkfifo(folder.File("fifo").c_str(), 0600), 0);
  const int reader = open(folder.File("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(CheckWritable(folder.File("fifo")).ok());
  ASSERT_TRUE(WriteFileAtomically(folder.File("fifo"), "report").ok());
  char piece[16];
  EXPECT_EQ(read(reader, piece, sizeof(piece)), 6);
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(folder.File("fifo")));
  EXPECT_EQ(FileCount(folder.path()), 1u);
  std::filesystem::create_symlink("/dev/null", folder.File("null"));
  EXPECT_TRUE(WriteFileAtomically(folder.File("null"), "gone").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("null")));
}

TEST(FileTest, SaysBeforehandWhatCannotBeWritten) {
  testing::TempDir folder;
  EXPECT_TRUE(CheckWritable(folder.File("new")).ok());
  EXPECT_TRUE(CheckWritable("/dev/null").ok());
  EXPECT_THAT(std::string(CheckWritable(folder.path()).message()), HasSubstr("directory"));
  EXPECT_EQ(CheckWritable(folder.File("no/folder")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FileCount(folder.path()), 0u);
}

TEST(FileTest, ErrorsNameActionAndPath) {
  testing::TempDir folder;
  const absl::Status missing = ReadFile(folder.File("nowhere")).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("nowhere"));
  EXPECT_FALSE(ReadFile(folder.path()).ok());
  EXPECT_EQ(WriteFileAtomically(folder.File("no/folder"), "x").code(), absl::StatusCode::kNotFound);
}

TEST(AtomicFileTest, LeavesNothingWithoutCommit) {
  testing::TempDir folder;
  folder.Write("a", "old");
  {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(folder.File("a"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("half").ok());
    AtomicFile moved = *std::move(file);
    EXPECT_EQ(*ReadFile(folder.File("a")), "old");
  }
  EXPECT_EQ(*ReadFile(folder.File("a")), "old");
  EXPECT_EQ(FileCount(folder.path()), 1u);
}

TEST(MakeFoldersTest, MakesParentsAndAcceptsWhatExists) {
  testing::TempDir folder;
  EXPECT_TRUE(MakeFolders(folder.File("a/b/c"), 0700).ok());
  EXPECT_TRUE(MakeFolders(folder.File("a/b/c")).ok());
  folder.Write("file", "x");
  EXPECT_FALSE(MakeFolders(folder.File("file")).ok());
  EXPECT_FALSE(MakeFolders(folder.File("file/below")).ok());
}

}  // namespace
}  // namespace stallhound
