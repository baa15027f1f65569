#pragma once

// The ranges that a point lies in on its own thread.

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/hunt/sync_points.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// Views of the recording's strings.
struct Enclosing {
  std::vector<std::string_view> operators;  // innermost first, at most kMostNestedOperators; empty: none
  // The innermost other range that has a name, as `--range` takes it: "ProfilerStep" of "ProfilerStep#7". Empty: none.
  std::string_view range;
};
inline constexpr size_t kMostNestedOperators = 32;

// A visitor of one read of the ranges. Of ranges that overlap without nesting, the one that began last is innermost;
// one without an end lasts to the end of the recording. Memory: 12 bytes a point, 40 for each range open at one time,
// and the different answers; ranges of threads without points are passed over.
class EnclosingRanges : public capture::CaptureVisitor {
 public:
  // Both outlive this.
  EnclosingRanges(const capture::StringTable& strings, const std::vector<SyncPoint>& points);

  absl::Status On(const capture::RangeBatch& batch) override;
  // Once, after the read.
  void Finish();

  // After Finish. Of the call that a point returns from, which a copy that it takes in may precede.
  const Enclosing& Of(size_t point) const { return answers_[of_point_[point]]; }

 private:
  struct Open {
    int64_t start_ns;
    int64_t end_ns;
    std::string_view name;
  };
  // Ranges that later points may lie in: each began no earlier than the one below it and ends earlier.
  using Nest = std::vector<Open>;
  struct Thread {
    std::vector<size_t> points;  // by call
    size_t next = 0;             // of points
    Nest operators;
    Nest others;
  };

  static void Push(Nest& nest, const Open& range);
  static void PopUntil(Nest& nest, int64_t time_ns);
  // Answers the points whose calls began before.
  void AnswerBefore(Thread& thread, int64_t time_ns);

  const capture::StringTable& strings_;
  const std::vector<SyncPoint>& points_;
  absl::flat_hash_map<uint32_t, Thread> threads_;
  std::vector<Enclosing> answers_;  // the first: nothing
  absl::flat_hash_map<std::pair<std::vector<std::string_view>, std::string_view>, uint32_t> answer_ids_;
  std::vector<uint32_t> of_point_;
};

}  // namespace stallhound::analysis
