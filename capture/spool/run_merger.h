#pragma once

// Merges runs of rows that are sorted by time, added while older ones are given away.

#include <absl/status/status.h>

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "capture/sort/row_sorter.h"

namespace stallhound::capture::spool {

template <typename Row>
class RunMerger {
 public:
  // `rows` are sorted by time. Equal times come out in the order of the runs.
  void AddRun(std::vector<Row> rows) {
    if (rows.empty()) return;
    const size_t slot = free_.empty() ? runs_.size() : free_.back();
    if (free_.empty()) {
      runs_.emplace_back();
    } else {
      free_.pop_back();
    }
    heads_.push({SortTime(rows.front()), next_sequence_++, slot});
    runs_[slot] = {std::move(rows), 0};
  }

  // Gives all rows before `limit_ns` to give(row), in order.
  template <typename Give>
  absl::Status EmitBelow(int64_t limit_ns, Give&& give) {
    while (!heads_.empty() && heads_.top().time_ns < limit_ns) {
      Head head = heads_.top();
      heads_.pop();
      Run& run = runs_[head.slot];
      const bool has_next = !heads_.empty();
      const Head next = has_next ? heads_.top() : Head{limit_ns, 0, 0};
      do {
        SH_RETURN_IF_ERROR(give(run.rows[run.position]));
        if (++run.position == run.rows.size()) break;
        head.time_ns = SortTime(run.rows[run.position]);
      } while (head.time_ns < limit_ns && (!has_next || next > head));
      if (run.position < run.rows.size()) {
        heads_.push(head);
      } else {
        run.rows = {};
        free_.push_back(head.slot);
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Run {
    std::vector<Row> rows;
    size_t position = 0;
  };
  struct Head {
    int64_t time_ns;
    uint64_t sequence;
    size_t slot;
    bool operator>(const Head& other) const {
      return std::pair(time_ns, sequence) > std::pair(other.time_ns, other.sequence);
    }
  };

  std::vector<Run> runs_;
  std::vector<size_t> free_;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
  uint64_t next_sequence_ = 0;
};

}  // namespace stallhound::capture::spool
