#pragma once

// Files written by a test and read back as rows.

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/testing/temp_dir.h"
#include "capture/import/importer.h"

namespace stallhound::capture {

// All rows of a recording.
struct CollectedRows : public CaptureVisitor {
#define SH_COLLECT(Type, table, COLUMNS)                                   \
  absl::Status On(const Type##Batch& batch) override {                     \
    for (size_t i = 0; i < batch.size; ++i) table.push_back(batch.Get(i)); \
    return absl::OkStatus();                                               \
  }                                                                        \
  std::vector<Type##Row> table;
  SH_CAPTURE_TABLES(SH_COLLECT)
#undef SH_COLLECT
};

// `text` as one member of a gzip file.
std::string Gzip(std::string_view text);

// A tar archive (ustar) of files: name, content.
std::string Tar(const std::vector<std::pair<std::string, std::string>>& files);

// Writes `content` to a file of that name and opens it.
absl::StatusOr<ForeignFiles> Import(const testing::TempDir& folder, std::string_view name, std::string_view content,
                                    const ImportOptions& options = {});

// The same for one recording: its counts and all its rows.
struct Imported {
  std::unique_ptr<ImportedCapture> capture;
  ImportCounts counts;
  CollectedRows rows;

  std::string Text(StringId id) const { return std::string(capture->strings().Get(id)); }
  bool HasNote(std::string_view word) const;
  int64_t Loss(std::string_view id) const;
};
absl::StatusOr<Imported> ImportOne(std::string_view name, std::string_view content, const ImportOptions& options = {});

}  // namespace stallhound::capture
