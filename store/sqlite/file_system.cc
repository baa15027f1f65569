#include "store/sqlite/file_system.h"

#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace stallhound::store {
namespace {

constexpr std::string_view kNetwork =
    "its locks and its idea of written data differ between machines, which corrupts SQLite files";
constexpr std::string_view kMounted = "its locks hold only if it was mounted so";
constexpr std::string_view kBehind = "whether its locks hold depends on what lies behind it";

struct KnownType {
  uint32_t type;
  FileSystemJudgement judgement;
};

constexpr KnownType kKnownTypes[] = {
    {NFS_SUPER_MAGIC, {LockTrust::kRefused, "NFS", kNetwork}},
    {SMB_SUPER_MAGIC, {LockTrust::kRefused, "SMB", kNetwork}},
    {CIFS_SUPER_MAGIC, {LockTrust::kRefused, "SMB (CIFS)", kNetwork}},
    {SMB2_SUPER_MAGIC, {LockTrust::kRefused, "SMB 2", kNetwork}},
    {AFS_SUPER_MAGIC, {LockTrust::kRefused, "AFS", kNetwork}},
    {AFS_FS_MAGIC, {LockTrust::kRefused, "AFS", kNetwork}},
    {CODA_SUPER_MAGIC, {LockTrust::kRefused, "Coda", kNetwork}},
    {CEPH_SUPER_MAGIC, {LockTrust::kDoubtful, "Ceph", kMounted}},
    {0x0bd00bd0, {LockTrust::kDoubtful, "Lustre", kMounted}},
    {0x47504653, {LockTrust::kDoubtful, "GPFS", kMounted}},
    {0x19830326, {LockTrust::kDoubtful, "BeeGFS", kMounted}},
    {0x01161970, {LockTrust::kDoubtful, "GFS2", kMounted}},
    {OCFS2_SUPER_MAGIC, {LockTrust::kDoubtful, "OCFS2", kMounted}},
    {V9FS_MAGIC, {LockTrust::kDoubtful, "9P", kBehind}},
    {FUSE_SUPER_MAGIC, {LockTrust::kDoubtful, "FUSE", kBehind}},
};

}  // namespace

FileSystemJudgement JudgeFileSystem(int64_t type) {
  // The kernel's long sign-extends magic numbers above 2^31 on some systems.
  const auto* found = std::find_if(std::begin(kKnownTypes), std::end(kKnownTypes),
                                   [&](const KnownType& known) { return known.type == static_cast<uint32_t>(type); });
  return found == std::end(kKnownTypes) ? FileSystemJudgement() : found->judgement;
}

std::optional<int64_t> FileSystemType(std::string_view path) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(path, error);
  struct statfs status {};
  while (statfs(place.c_str(), &status) != 0) {
    if (!place.has_relative_path()) return std::nullopt;
    place = place.parent_path();
  }
  return static_cast<int64_t>(status.f_type);
}

}  // namespace stallhound::store
