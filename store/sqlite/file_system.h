#pragma once

// Where SQLite's locks hold. It relies on POSIX locks that all writers see and on fsync that means it.

#include <cstdint>
#include <optional>
#include <string_view>

namespace stallhound::store {

enum class LockTrust : uint8_t { kTrusted, kDoubtful, kRefused };

struct FileSystemJudgement {
  LockTrust trust = LockTrust::kTrusted;
  std::string_view name;    // "NFS"; empty for kTrusted
  std::string_view reason;  // a clause: "locks of several machines ..."; empty for kTrusted
};

// `type` is f_type of statfs(2). NFS, SMB, AFS and Coda are refused; FUSE, 9P and cluster file systems doubtful,
// because what lies behind them, or how they are mounted, decides. Unknown types are trusted: local ones are many.
FileSystemJudgement JudgeFileSystem(int64_t type);

// f_type of the file system that holds `path`, or will hold it: of its nearest folder that is there. nullopt: unknown.
std::optional<int64_t> FileSystemType(std::string_view path);

}  // namespace stallhound::store
