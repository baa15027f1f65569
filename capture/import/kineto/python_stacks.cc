#include "capture/import/kineto/python_stacks.h"

#include <algorithm>
#include <string_view>

#include "base/status_macros.h"

namespace stallhound::capture {
namespace {

constexpr size_t kMaxDepth = 256;
// Of ranges open on one thread; deeper ones are left out of stacks.
constexpr size_t kMaxOpen = 4096;

class StackJoiner : public CaptureVisitor {
 public:
  StackJoiner(TraceRows& rows, StackTables& tables) : rows_(rows), tables_(tables), open_(rows.threads.size()) {}

  absl::Status On(const RangeBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      const RangeKind kind = batch.kind[i];
      if (kind != RangeKind::kPythonFunction && kind != RangeKind::kOperator) continue;
      ServeCallsBefore(batch.start_ns[i]);
      Push(open_[batch.thread_id[i]],
           {batch.start_ns[i], batch.end_ns[i].value_or(batch.start_ns[i]), kind, batch.name[i], batch.payload[i]});
    }
    return absl::OkStatus();
  }

  void ServeCallsBefore(int64_t time_ns) {
    while (next_call_ < rows_.stack_calls.size() && rows_.stack_calls[next_call_].start_ns < time_ns) {
      Serve(rows_.stack_calls[next_call_++]);
    }
  }

 private:
  struct Open {
    int64_t start_ns;
    int64_t end_ns;
    RangeKind kind;
    StringId name;
    std::optional<int64_t> call_stack;
  };

  // Ranges of one start come in file order; the longer one is outside.
  static void Push(std::vector<Open>& open, const Open& range) {
    while (!open.empty() && open.back().end_ns <= range.start_ns && open.back().start_ns < range.start_ns)
      open.pop_back();
    if (open.size() >= kMaxOpen) return;
    auto at = open.end();
    while (at != open.begin() && (at - 1)->start_ns == range.start_ns && (at - 1)->end_ns < range.end_ns) --at;
    open.insert(at, range);
  }

  void Serve(StackCall& call) {
    std::vector<Open>& open = open_[call.thread_id];
    while (!open.empty() && open.back().end_ns <= call.start_ns) open.pop_back();
    if (open.empty()) return;
    frames_.clear();
    for (auto it = open.rbegin(); it != open.rend() && frames_.size() < kMaxDepth; ++it) {
      if (it->kind == RangeKind::kPythonFunction && it->end_ns > call.start_ns) frames_.push_back(FrameOf(it->name));
    }
    if (frames_.empty()) AddCallStack(open, call.start_ns);
    if (!frames_.empty()) ++tables_.python_stack_count;
    for (auto it = open.rbegin(); it != open.rend() && frames_.size() < kMaxDepth; ++it) {
      if (it->kind == RangeKind::kOperator && it->end_ns > call.start_ns) frames_.push_back(OperatorFrameOf(it->name));
    }
    if (!frames_.empty()) call.stack_id = StackOf();
  }

  // The innermost operator with a call stack: "file(line): function;file(line): function", innermost first.
  void AddCallStack(const std::vector<Open>& open, int64_t time_ns) {
    for (auto it = open.rbegin(); it != open.rend(); ++it) {
      if (!it->call_stack || it->end_ns <= time_ns) continue;
      const auto text = static_cast<StringId>(*it->call_stack);
      const auto [known, inserted] = call_stacks_.try_emplace(text);
      if (inserted) known->second = ParseCallStack(std::string(rows_.names.strings().Get(text)));
      frames_ = known->second;
      return;
    }
  }

  std::vector<uint32_t> ParseCallStack(std::string_view text) {
    std::vector<uint32_t> frames;
    while (!text.empty() && frames.size() < kMaxDepth) {
      const size_t end = std::min(text.find(';'), text.size());
      if (end > 0) frames.push_back(FrameOf(rows_.names.strings().Intern(text.substr(0, end))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return frames;
  }

  uint32_t FrameOf(StringId name) {
    const auto [it, inserted] = python_frames_.try_emplace(name, static_cast<uint32_t>(tables_.frames.size()));
    if (!inserted) return it->second;
    const PythonName python = ParsePythonName(rows_.names.strings().Get(name));
    FrameRow row;
    row.frame_id = it->second;
    row.kind = FrameKind::kPython;
    row.function = rows_.names.strings().Intern(python.function);
    if (!python.file.empty()) row.file = rows_.names.strings().Intern(python.file);
    row.line = python.line;
    row.is_user = python.is_user;
    tables_.frames.push_back(row);
    return row.frame_id;
  }

  uint32_t OperatorFrameOf(StringId name) {
    const auto [it, inserted] = operator_frames_.try_emplace(name, static_cast<uint32_t>(tables_.frames.size()));
    if (!inserted) return it->second;
    FrameRow row;
    row.frame_id = it->second;
    row.kind = FrameKind::kNative;
    row.function = name;
    tables_.frames.push_back(row);
    return row.frame_id;
  }

  uint32_t StackOf() {
    const auto [it, inserted] = stacks_.try_emplace(frames_, static_cast<uint32_t>(stacks_.size()));
    if (!inserted) return it->second;
    for (size_t depth = 0; depth < frames_.size(); ++depth) {
      StackFrameRow row;
      row.stack_id = it->second;
      row.depth = static_cast<uint32_t>(depth);
      row.frame_id = frames_[depth];
      tables_.stack_frames.push_back(row);
    }
    return it->second;
  }

  TraceRows& rows_;
  StackTables& tables_;
  std::vector<std::vector<Open>> open_;  // by thread
  size_t next_call_ = 0;
  std::vector<uint32_t> frames_;
  absl::flat_hash_map<StringId, uint32_t> python_frames_;
  absl::flat_hash_map<StringId, uint32_t> operator_frames_;
  absl::flat_hash_map<StringId, std::vector<uint32_t>> call_stacks_;
  absl::flat_hash_map<std::vector<uint32_t>, uint32_t> stacks_;
};

}  // namespace

absl::Status JoinStacks(TraceRows* rows, StackTables* tables) {
  std::stable_sort(rows->stack_calls.begin(), rows->stack_calls.end(),
                   [](const StackCall& a, const StackCall& b) { return a.start_ns < b.start_ns; });
  if (rows->stack_calls.empty() || rows->ranges.size() == 0) return absl::OkStatus();
  StackJoiner joiner(*rows, *tables);
  SH_RETURN_IF_ERROR(rows->ranges.Emit(joiner));
  joiner.ServeCallsBefore(INT64_MAX);
  return absl::OkStatus();
}

}  // namespace stallhound::capture
