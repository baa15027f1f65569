#include "analysis/hunt/enclosing.h"

#include <algorithm>
#include <limits>

#include "analysis/hunt/operator_name.h"

namespace stallhound::analysis {
namespace {

using capture::RangeKind;

// Of profilers that number their steps.
std::string_view WithoutNumber(std::string_view name) {
  const size_t mark = name.rfind('#');
  const bool is_numbered = mark != std::string_view::npos && mark > 0 && mark + 1 < name.size() &&
                           name.find_first_not_of("0123456789", mark + 1) == std::string_view::npos;
  return is_numbered ? name.substr(0, mark) : name;
}

}  // namespace

EnclosingRanges::EnclosingRanges(const capture::StringTable& strings, const std::vector<SyncPoint>& points)
    : strings_(strings), points_(points), answers_(1), of_point_(points.size()) {
  for (size_t i = 0; i < points.size(); ++i) threads_[points[i].thread_id].points.push_back(i);
  for (auto& [id, thread] : threads_) {
    std::stable_sort(thread.points.begin(), thread.points.end(),
                     [&](size_t a, size_t b) { return points[a].call_start_ns < points[b].call_start_ns; });
  }
}

absl::Status EnclosingRanges::On(const capture::RangeBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    const RangeKind kind = batch.kind[i];
    if (kind == RangeKind::kMark || kind == RangeKind::kPythonFunction) continue;
    const auto it = threads_.find(batch.thread_id[i]);
    if (it == threads_.end() || it->second.next == it->second.points.size()) continue;
    Thread& thread = it->second;
    AnswerBefore(thread, batch.start_ns[i]);
    Open range{batch.start_ns[i], batch.end_ns[i].value_or(std::numeric_limits<int64_t>::max()),
               strings_.Get(batch.name[i])};
    const std::optional<std::string_view> text_operator =
        kind == RangeKind::kPushPop ? OperatorOfText(range.name) : std::nullopt;
    const bool is_operator = kind == RangeKind::kOperator || text_operator;
    range.name = is_operator ? text_operator.value_or(range.name) : WithoutNumber(range.name);
    if (!range.name.empty()) Push(is_operator ? thread.operators : thread.others, range);
  }
  return absl::OkStatus();
}

void EnclosingRanges::Push(Nest& nest, const Open& range) {
  // Of ranges of one start the longer one is outside.
  auto above = nest.end();
  while (above != nest.begin() && (above - 1)->start_ns == range.start_ns && (above - 1)->end_ns < range.end_ns) {
    --above;
  }
  // What ends no later than a range that began later is innermost nowhere any more.
  auto below = above;
  while (below != nest.begin() && (below - 1)->end_ns <= range.end_ns) --below;
  nest.insert(nest.erase(below, above), range);
}

void EnclosingRanges::PopUntil(Nest& nest, int64_t time_ns) {
  while (!nest.empty() && nest.back().end_ns <= time_ns) nest.pop_back();
}

void EnclosingRanges::AnswerBefore(Thread& thread, int64_t time_ns) {
  for (; thread.next < thread.points.size(); ++thread.next) {
    const size_t point = thread.points[thread.next];
    const int64_t call_ns = points_[point].call_start_ns;
    if (call_ns >= time_ns) return;
    PopUntil(thread.operators, call_ns);
    PopUntil(thread.others, call_ns);
    Enclosing answer;
    for (auto it = thread.operators.rbegin(); it != thread.operators.rend(); ++it) {
      if (answer.operators.size() == kMostNestedOperators) break;
      answer.operators.push_back(it->name);
    }
    if (!thread.others.empty()) answer.range = thread.others.back().name;
    if (answer.operators.empty() && answer.range.empty()) continue;
    const auto [it, is_new] =
        answer_ids_.try_emplace({answer.operators, answer.range}, static_cast<uint32_t>(answers_.size()));
    if (is_new) answers_.push_back(std::move(answer));
    of_point_[point] = it->second;
  }
}

void EnclosingRanges::Finish() {
  for (auto& [id, thread] : threads_) AnswerBefore(thread, std::numeric_limits<int64_t>::max());
}

}  // namespace stallhound::analysis
