#pragma once

// Puts the rows of one table into time order within bounded memory: what does not fit is spilled in sorted runs to an
// unlinked temporary file and merged when read.

#include <absl/status/status.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "capture/reader.h"
#include "capture/sort/spill_file.h"

namespace stallhound::capture {

// The time a row is ordered by: start_ns, or time_ns where a table has that.
template <typename Row>
int64_t SortTime(const Row& row) {
  if constexpr (requires { row.start_ns; }) {
    return row.start_ns;
  } else {
    return row.time_ns;
  }
}

template <typename Batch>
class RowSorter {
 public:
  using Row = typename Batch::Row;
  static_assert(std::is_trivially_copyable_v<Row>, "rows are spilled as bytes");

  // Holds at most about `memory_bytes` of rows, both while adding and while emitting.
  explicit RowSorter(size_t memory_bytes = size_t{32} << 20)
      : capacity_rows_(std::max<size_t>(memory_bytes / sizeof(Row), 1)) {}

  // Errors: those of the temporary file (ResourceExhausted: disk full).
  absl::Status Add(const Row& row) {
    rows_.push_back(row);
    is_sorted_ = is_sorted_ && (rows_.size() == 1 || SortTime(rows_[rows_.size() - 2]) <= SortTime(row));
    ++size_;
    return rows_.size() < capacity_rows_ ? absl::OkStatus() : Spill();
  }

  uint64_t size() const { return size_; }

  // Gives all rows to visitor.On(Batch), ordered by time; rows of equal time keep the order they were added in. May be
  // called again, also after more rows were added.
  absl::Status Emit(CaptureVisitor& visitor) {
    SortRows();
    Batch batch;
    const auto give = [&](const Row& row) -> absl::Status {
      batch.Append(row);
      if (batch.size < kBatchRows) return absl::OkStatus();
      const absl::Status status = visitor.On(batch);
      batch.Clear();
      return status;
    };
    SH_RETURN_IF_ERROR(runs_.empty() ? EmitRows(give) : Merge(give));
    return batch.size == 0 ? absl::OkStatus() : visitor.On(batch);
  }

 private:
  // Rows of one run, read a window at a time. The last run is the one still in memory.
  struct Run {
    uint64_t next_row = 0;
    uint64_t end_row = 0;
    size_t position = 0;
    std::vector<Row> window;
  };

  void SortRows() {
    if (is_sorted_) return;
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return SortTime(a) < SortTime(b); });
    is_sorted_ = true;
  }

  absl::Status Spill() {
    SortRows();
    SH_RETURN_IF_ERROR(file_.Append(rows_.data(), rows_.size() * sizeof(Row)));
    runs_.emplace_back(spilled_rows_, spilled_rows_ + rows_.size());
    spilled_rows_ += rows_.size();
    rows_.clear();
    is_sorted_ = true;
    return absl::OkStatus();
  }

  template <typename Give>
  absl::Status EmitRows(Give&& give) {
    for (const Row& row : rows_) SH_RETURN_IF_ERROR(give(row));
    return absl::OkStatus();
  }

  absl::Status Fill(Run& run, size_t window_rows) {
    run.position = 0;
    run.window.resize(std::min<uint64_t>(window_rows, run.end_row - run.next_row));
    SH_RETURN_IF_ERROR(file_.Read(run.next_row * sizeof(Row), run.window.data(), run.window.size() * sizeof(Row)));
    run.next_row += run.window.size();
    return absl::OkStatus();
  }

  template <typename Give>
  absl::Status Merge(Give&& give) {
    const size_t window_rows = std::max<size_t>(capacity_rows_ / (runs_.size() + 1), 64);
    std::vector<Run> runs(runs_.size() + 1);
    for (size_t i = 0; i < runs_.size(); ++i) {
      runs[i].next_row = runs_[i].first;
      runs[i].end_row = runs_[i].second;
      SH_RETURN_IF_ERROR(Fill(runs[i], window_rows));
    }
    runs.back().window.swap(rows_);
    const absl::Status status = MergeRuns(runs, window_rows, give);
    runs.back().window.swap(rows_);
    return status;
  }

  template <typename Give>
  absl::Status MergeRuns(std::vector<Run>& runs, size_t window_rows, Give&& give) {
    using Head = std::pair<int64_t, size_t>;  // time, run: equal times in the order of the runs
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    for (size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i].window.empty()) heads.emplace(SortTime(runs[i].window.front()), i);
    }
    while (!heads.empty()) {
      const size_t index = heads.top().second;
      heads.pop();
      const Head next = heads.empty() ? Head{INT64_MAX, SIZE_MAX} : heads.top();
      Run& run = runs[index];
      bool is_exhausted = false;
      do {
        SH_RETURN_IF_ERROR(give(run.window[run.position]));
        if (++run.position < run.window.size()) continue;
        is_exhausted = run.next_row == run.end_row;
        if (!is_exhausted) SH_RETURN_IF_ERROR(Fill(run, window_rows));
      } while (!is_exhausted && Head{SortTime(run.window[run.position]), index} < next);
      if (!is_exhausted) heads.emplace(SortTime(run.window[run.position]), index);
    }
    return absl::OkStatus();
  }

  size_t capacity_rows_;
  std::vector<Row> rows_;
  bool is_sorted_ = true;
  std::vector<std::pair<uint64_t, uint64_t>> runs_;  // row ranges in file_
  uint64_t spilled_rows_ = 0;
  uint64_t size_ = 0;
  SpillFile file_;
};

}  // namespace stallhound::capture
