#pragma once

// When work ended, asked by when it was submitted.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace stallhound::analysis {

// The first of `count` sorted times that is not before `time_ns`, searched from where the last search ended: work comes
// nearly in order. `at(i)` is the i-th time.
template <typename At>
size_t SeekFrom(size_t cursor, size_t count, int64_t time_ns, At at) {
  while (cursor > 0 && at(cursor - 1) >= time_ns) --cursor;
  while (cursor < count && at(cursor) < time_ns) ++cursor;
  return cursor;
}

// For each of some instants: the end of the last work among all that was submitted until then. 8 bytes an instant.
class LastEnds {
 public:
  // `instants_ns` sorted; outlives this and does not change.
  explicit LastEnds(const std::vector<int64_t>& instants_ns)
      : instants_ns_(&instants_ns), ends_ns_(instants_ns.size(), INT64_MIN) {}

  void Add(int64_t submitted_ns, int64_t end_ns) {
    cursor_ = SeekFrom(cursor_, ends_ns_.size(), submitted_ns, [this](size_t i) { return (*instants_ns_)[i]; });
    if (cursor_ < ends_ns_.size()) ends_ns_[cursor_] = std::max(ends_ns_[cursor_], end_ns);
  }
  // Once, after all work.
  void Close() {
    for (size_t i = 1; i < ends_ns_.size(); ++i) ends_ns_[i] = std::max(ends_ns_[i], ends_ns_[i - 1]);
  }
  // Null: nothing had been submitted.
  std::optional<int64_t> At(size_t instant) const {
    return ends_ns_[instant] == INT64_MIN ? std::nullopt : std::optional(ends_ns_[instant]);
  }

 private:
  const std::vector<int64_t>* instants_ns_;
  std::vector<int64_t> ends_ns_;  // until Close: of what was submitted since the instant before
  size_t cursor_ = 0;
};

}  // namespace stallhound::analysis
