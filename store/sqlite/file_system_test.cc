#include "store/sqlite/file_system.h"

#include <gtest/gtest.h>
#include <linux/magic.h>

#include "base/testing/temp_dir.h"

namespace stallhound::store {
namespace {

TEST(FileSystem, RefusesWhatMachinesShare) {
  for (const int64_t type : {int64_t{NFS_SUPER_MAGIC}, int64_t{SMB_SUPER_MAGIC}, int64_t{0xff534d42},
                             int64_t{0xfe534d42}, int64_t{AFS_SUPER_MAGIC}, int64_t{CODA_SUPER_MAGIC}}) {
    const FileSystemJudgement judgement = JudgeFileSystem(type);
    EXPECT_EQ(judgement.trust, LockTrust::kRefused) << std::hex << type;
    EXPECT_FALSE(judgement.name.empty());
    EXPECT_FALSE(judgement.reason.empty());
  }
  EXPECT_EQ(JudgeFileSystem(int64_t{static_cast<int32_t>(0xff534d42)}).name, "SMB (CIFS)") << "sign-extended";
}

TEST(FileSystem, DoubtsWhatDependsOnItsMount) {
  EXPECT_EQ(JudgeFileSystem(0x65735546).name, "FUSE");
  EXPECT_EQ(JudgeFileSystem(0x65735546).trust, LockTrust::kDoubtful);
  EXPECT_EQ(JudgeFileSystem(0x0bd00bd0).trust, LockTrust::kDoubtful);
}

TEST(FileSystem, TrustsLocalOnes) {
  for (const int64_t type : std::initializer_list<int64_t>{EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
                                                           OVERLAYFS_SUPER_MAGIC, XFS_SUPER_MAGIC}) {
    EXPECT_EQ(JudgeFileSystem(type).trust, LockTrust::kTrusted) << std::hex << type;
  }
}

TEST(FileSystem, AsksForTheFolderOfAFileToCome) {
  const testing::TempDir folder;
  const std::optional<int64_t> type = FileSystemType(folder.path());
  ASSERT_TRUE(type.has_value());
  EXPECT_EQ(FileSystemType(folder.File("new.db")), type);
  EXPECT_EQ(FileSystemType("/proc/self/status"), PROC_SUPER_MAGIC);
  EXPECT_EQ(FileSystemType(folder.File("no/such/folder/new.db")), type);
  EXPECT_EQ(FileSystemType("new.db"), FileSystemType("."));
}

}  // namespace
}  // namespace stallhound::store
