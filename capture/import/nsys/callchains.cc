#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <tuple>

#include "base/status_macros.h"
#include "capture/import/nsys/dimensions.h"
#include "capture/import/nsys/emitter.h"
#include "capture/symbolize/source_paths.h"

namespace stallhound::capture::nsys {
namespace {

// A user's binary holds a static CUDA runtime, and templates of libraries.
bool IsOfUser(std::string_view function) { return IsUserFunction(function) && !IsLibraryName(function); }

}  // namespace

absl::Status EmitCallchains(Database& database, Names& names, const TableSet& wanted, CaptureVisitor& visitor) {
  if (!database.Has(kCallchainTable)) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(Rows rows,
                      database.Select(kCallchainTable, {"id", "stackDepth", "symbol", "module", "unresolved"}));
  absl::flat_hash_map<std::tuple<int64_t, int64_t, bool>, uint32_t> frame_ids;
  std::vector<StackFrameRow> stacks;
  Emitter<FrameBatch> frames(visitor);
  while (rows.Next()) {
    const std::optional<uint32_t> stack = rows.MaybeId(0);
    const std::optional<uint32_t> depth = rows.MaybeId(1);
    if (!stack || !depth) continue;
    const bool is_unresolved = rows.Int(4) != 0;
    const auto [frame, is_new] =
        frame_ids.try_emplace({rows.Int(2), rows.Int(3), is_unresolved}, static_cast<uint32_t>(frame_ids.size()));
    stacks.push_back({*stack, *depth, frame->second});
    if (!is_new || !wanted.test(static_cast<size_t>(Table::kFrame))) continue;
    FrameRow row;
    row.frame_id = frame->second;
    row.kind = FrameKind::kNative;
    if (!is_unresolved) row.function = names.Find(rows.Int(2));
    if (const std::optional<StringId> module = names.Find(rows.Int(3))) {
      row.is_user = IsUserModule(names.Text(*module)) && (!row.function || IsOfUser(names.Text(*row.function)));
      row.module = names.Intern(HideHomes(names.Text(*module)));
    }
    SH_RETURN_IF_ERROR(frames.Add(row));
  }
  SH_RETURN_IF_ERROR(rows.status());
  SH_RETURN_IF_ERROR(frames.Flush());
  if (!wanted.test(static_cast<size_t>(Table::kStackFrame))) return absl::OkStatus();

  std::sort(stacks.begin(), stacks.end(), [](const StackFrameRow& a, const StackFrameRow& b) {
    return std::tie(a.stack_id, a.depth) < std::tie(b.stack_id, b.depth);
  });
  Emitter<StackFrameBatch> emitter(visitor);
  for (const StackFrameRow& row : stacks) SH_RETURN_IF_ERROR(emitter.Add(row));
  return emitter.Flush();
}

}  // namespace stallhound::capture::nsys
