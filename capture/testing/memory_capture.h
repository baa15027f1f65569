#pragma once

// A recording made of rows, for tests: fill `rows`, then read it like any other. Rows of event tables may be added in
// any order; Read sorts them by time (equal times keep their order).

#include <absl/status/status.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "capture/reader.h"

namespace stallhound::capture {

class MemoryCapture : public CaptureReader {
 public:
  MemoryCapture();

  // Add(KernelRow{...}): appends a row to its table.
#define SH_MEMORY_ADD(Type, table, COLUMNS) \
  void Add(Type##Row row) { table##_rows_.push_back(std::move(row)); }
  SH_CAPTURE_TABLES(SH_MEMORY_ADD)
#undef SH_MEMORY_ADD

  // mutable_kernel(), ...: the rows of a table, to change what was added.
#define SH_MEMORY_MUTABLE(Type, table, COLUMNS) \
  std::vector<Type##Row>& mutable_##table() { return table##_rows_; }
  SH_CAPTURE_TABLES(SH_MEMORY_MUTABLE)
#undef SH_MEMORY_MUTABLE

  StringId Intern(std::string_view text) { return strings_.Intern(text); }
  CaptureInfo& mutable_info() { return info_; }
  // Rows of a batch; small values test that analyses keep state between batches.
  void set_batch_rows(size_t batch_rows) { batch_rows_ = batch_rows; }
  // Times a table was asked for, over all reads.
  int ReadCount(Table table) const { return read_counts_[static_cast<size_t>(table)]; }

  const CaptureInfo& info() const override { return info_; }
  const StringTable& strings() const override { return strings_; }
  absl::Status Read(const TableSet& wanted, CaptureVisitor& visitor) override;

 private:
  CaptureInfo info_;
  StringTable strings_;
  size_t batch_rows_ = kBatchRows;
  std::vector<int> read_counts_ = std::vector<int>(static_cast<size_t>(Table::kCount));
#define SH_MEMORY_ROWS(Type, table, COLUMNS) std::vector<Type##Row> table##_rows_;
  SH_CAPTURE_TABLES(SH_MEMORY_ROWS)
#undef SH_MEMORY_ROWS
};

}  // namespace stallhound::capture
