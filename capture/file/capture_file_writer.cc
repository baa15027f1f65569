#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_join.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

#include "base/sqlite/sqlite.h"
#include "base/status_macros.h"
#include "capture/file/capture_file.h"
#include "capture/file/table_sql.h"

namespace stallhound::capture {
namespace {

constexpr uint64_t kProgressRows = 65536;

// Hashes every value written, in order: two captures of equal content have equal checksums.
class ContentChecksum {
 public:
  void Add(uint64_t value) {
    state_ = (state_ ^ value) * 0x9e3779b97f4a7c15u;
    state_ ^= state_ >> 32;
  }
  std::string Text() const { return fmt::format("{:016x}", state_); }

 private:
  uint64_t state_ = 0xcbf29ce484222325u;
};

class FileWriter : public CaptureVisitor {
 public:
  FileWriter(sqlite3* connection, const WriteProgress& progress) : connection_(connection), progress_(progress) {}

#define SH_WRITE_BATCH(Type, table, COLUMNS) \
  absl::Status On(const Type##Batch& batch) override { return Write(#table, table##_insert_, batch); }
  SH_CAPTURE_TABLES(SH_WRITE_BATCH)
#undef SH_WRITE_BATCH

  const ContentChecksum& checksum() const { return checksum_; }

 private:
  template <typename Batch>
  absl::Status Write(const char* table, SqliteStatement& insert, const Batch& batch) {
    if (insert == nullptr) {
      SH_ASSIGN_OR_RETURN(insert, PrepareSql(connection_, InsertSql(table)));
    }
    for (size_t i = 0; i < batch.size; ++i) {
      int parameter = 0;
      batch.ForEachColumn([&](const char*, const auto& column) { Bind(insert.get(), ++parameter, column[i]); });
      if (sqlite3_step(insert.get()) != SQLITE_DONE) return SqliteError(connection_, "writing a row of", table);
      sqlite3_reset(insert.get());
    }
    return Advance(batch.size);
  }

  absl::Status Advance(size_t rows) {
    const uint64_t before = row_count_;
    row_count_ += rows;
    if (progress_ && before / kProgressRows != row_count_ / kProgressRows && !progress_(row_count_)) {
      return absl::CancelledError("writing the capture file was cancelled; nothing was kept");
    }
    return absl::OkStatus();
  }

  template <typename T>
  void Bind(sqlite3_stmt* statement, int parameter, const T& value) {
    if constexpr (std::is_same_v<T, double>) {
      uint64_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      checksum_.Add(bits);
      sqlite3_bind_double(statement, parameter, value);
    } else {
      const auto number = static_cast<int64_t>(value);
      checksum_.Add(static_cast<uint64_t>(number));
      sqlite3_bind_int64(statement, parameter, number);
    }
  }
  template <typename T>
  void Bind(sqlite3_stmt* statement, int parameter, const std::optional<T>& value) {
    if (value.has_value()) {
      Bind(statement, parameter, *value);
    } else {
      checksum_.Add(0x6e756c6cu);
      sqlite3_bind_null(statement, parameter);
    }
  }

  sqlite3* connection_;
  const WriteProgress& progress_;
  ContentChecksum checksum_;
  uint64_t row_count_ = 0;
#define SH_INSERT_MEMBER(Type, table, COLUMNS) SqliteStatement table##_insert_;
  SH_CAPTURE_TABLES(SH_INSERT_MEMBER)
#undef SH_INSERT_MEMBER
};

absl::Status WriteStrings(sqlite3* connection, const StringTable& strings) {
  SH_ASSIGN_OR_RETURN(SqliteStatement insert, PrepareSql(connection, "INSERT INTO string VALUES (?, ?)"));
  for (size_t id = 0; id < strings.size(); ++id) {
    const std::string_view text = strings.Get(static_cast<StringId>(id));
    sqlite3_bind_int64(insert.get(), 1, static_cast<int64_t>(id));
    sqlite3_bind_text64(insert.get(), 2, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    if (sqlite3_step(insert.get()) != SQLITE_DONE) return SqliteError(connection, "writing a row of", "string");
    sqlite3_reset(insert.get());
  }
  return absl::OkStatus();
}

absl::Status WriteInfo(sqlite3* connection, const CaptureInfo& info, const ContentChecksum& checksum) {
  SH_ASSIGN_OR_RETURN(SqliteStatement insert, PrepareSql(connection, "INSERT INTO capture_info VALUES (?, ?)"));
  const auto put = [&](const char* key, const std::string& value) -> absl::Status {
    sqlite3_bind_text(insert.get(), 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text64(insert.get(), 2, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
    if (sqlite3_step(insert.get()) != SQLITE_DONE) return SqliteError(connection, "writing", key);
    sqlite3_reset(insert.get());
    return absl::OkStatus();
  };
  SH_RETURN_IF_ERROR(put("uuid", info.uuid));
  SH_RETURN_IF_ERROR(put("format", info.format));
  SH_RETURN_IF_ERROR(put("format_version", info.format_version));
  SH_RETURN_IF_ERROR(put("producer", info.producer));
  SH_RETURN_IF_ERROR(put("mode", info.mode));
  if (info.epoch_ns.has_value()) SH_RETURN_IF_ERROR(put("epoch_ns", fmt::format("{}", *info.epoch_ns)));
  SH_RETURN_IF_ERROR(put("end_ns", fmt::format("{}", info.end_ns)));
  std::vector<std::string> recorded;
#define SH_RECORDED(Type, table, COLUMNS) \
  if (info.recorded.test(static_cast<size_t>(Table::k##Type))) recorded.push_back(#table);
  SH_CAPTURE_TABLES(SH_RECORDED)
#undef SH_RECORDED
  SH_RETURN_IF_ERROR(put("recorded", absl::StrJoin(recorded, " ")));
  SH_RETURN_IF_ERROR(put("notes", absl::StrJoin(info.notes, "\n")));
  return put("checksum", checksum.Text());
}

absl::Status WriteAll(CaptureReader& reader, const std::string& path, const WriteProgress& progress) {
  SH_ASSIGN_OR_RETURN(SqliteConnection connection, OpenSqlite(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  sqlite3* db = connection.get();
  SH_RETURN_IF_ERROR(
      ExecuteSql(db, fmt::format("PRAGMA page_size=65536; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; "
                                 "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-16384; PRAGMA application_id={}; "
                                 "PRAGMA user_version={}; BEGIN;",
                                 kCaptureApplicationId, kCaptureSchemaVersion)));
  SH_RETURN_IF_ERROR(ExecuteSql(db, CreateSchemaSql()));
  FileWriter writer(db, progress);
  SH_RETURN_IF_ERROR(reader.Read(AllTables(), writer));
  SH_RETURN_IF_ERROR(WriteStrings(db, reader.strings()));
  SH_RETURN_IF_ERROR(WriteInfo(db, reader.info(), writer.checksum()));
  return ExecuteSql(db, "COMMIT");
}

// As private as the spools it is made of; SQLite's own files have 0644. If it fails, SQLite says why.
void CreatePrivate(const std::string& path) {
  const int fd = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
}

absl::Status SyncFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, fmt::format("opening {} to sync it", path));
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  return result == 0 ? absl::OkStatus() : absl::ErrnoToStatus(error, fmt::format("syncing {}", path));
}

}  // namespace

absl::Status WriteCaptureFile(CaptureReader& reader, const std::string& path, const WriteProgress& progress) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  unlink(temporary.c_str());
  CreatePrivate(temporary);
  absl::Cleanup remove = [&temporary] { unlink(temporary.c_str()); };
  SH_RETURN_IF_ERROR(WriteAll(reader, temporary, progress));
  SH_RETURN_IF_ERROR(SyncFile(temporary));
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, fmt::format("renaming {} to {}", temporary, path));
  }
  std::move(remove).Cancel();
  return absl::OkStatus();
}

}  // namespace stallhound::capture
