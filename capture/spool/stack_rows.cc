#include "capture/spool/stack_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/symbolize/python_lines.h"

namespace stallhound::capture::spool {
namespace {

template <typename T>
std::string Text(const std::optional<T>& value) {
  return value.has_value() ? fmt::format("{}", static_cast<int64_t>(*value)) : "-";
}

// Whether the function itself may be the user's, wherever the line at hand lies.
bool HasUserFunction(const NativeLocation& location) {
  if (location.function_file) return IsUserSource(*location.function_file);
  return !location.function || !IsLibraryName(*location.function);
}

}  // namespace

uint32_t StackRows::AddFrame(const FrameRow& frame) {
  const std::string key =
      fmt::format("{} {} {} {} {} {}", static_cast<int>(frame.kind), Text(frame.function), Text(frame.file),
                  Text(frame.line), Text(frame.module), Text(frame.module_offset));
  const auto [it, is_new] = frame_ids_.try_emplace(key, static_cast<uint32_t>(frames_.size));
  if (is_new) {
    frames_.Append(frame);
    frames_.frame_id.back() = it->second;
  }
  return it->second;
}

FrameRow StackRows::PythonRow(const Dictionary& dictionary, const PythonFrame& frame) {
  FrameRow row;
  row.kind = FrameKind::kPython;
  const auto it = dictionary.codes().find(frame.code_id);
  if (it == dictionary.codes().end()) return row;
  const PythonCode& code = it->second;
  const std::string_view file = dictionary.String(code.file);
  const std::string_view name = dictionary.String(code.name);
  if (!name.empty()) row.function = strings_.Intern(name);
  if (!file.empty()) row.file = strings_.Intern(PortablePath(file, roots_));
  row.line = FindPythonLine(code.python_version, code.line_table, code.first_line, frame.instruction_offset);
  row.is_user = IsUserSource(file);
  return row;
}

FrameRow StackRows::NativeRow(const NativeLocation& location) {
  const bool is_user_line = location.file && IsUserSource(*location.file);
  FrameRow row;
  row.kind = FrameKind::kNative;
  if (location.function) row.function = strings_.Intern(*location.function);
  if (location.module) {
    row.module = strings_.Intern(PortablePath(*location.module, roots_));
    row.is_user = IsUserModule(*location.module) && (!location.function || IsUserFunction(*location.function)) &&
                  (is_user_line || HasUserFunction(location));
  }
  if (is_user_line || !row.is_user) {
    if (location.file) row.file = strings_.Intern(PortablePath(*location.file, roots_));
    row.line = location.line;
  } else if (location.function_file) {
    // The line is that of a library's code inside the function: not where the function is.
    row.file = strings_.Intern(PortablePath(*location.function_file, roots_));
  }
  if (location.module_offset && !(row.function && row.line)) {
    row.module_offset = static_cast<int64_t>(*location.module_offset);
  }
  return row;
}

void StackRows::AddDepth(uint32_t stack_id, uint32_t depth, uint32_t frame_id) {
  StackFrameRow row;
  row.stack_id = stack_id;
  row.depth = depth;
  row.frame_id = frame_id;
  stack_frames_.Append(row);
}

absl::flat_hash_map<uint32_t, uint32_t> StackRows::Add(const Dictionary& dictionary, PathRoots roots) {
  roots_ = std::move(roots);
  NativeSymbolizer symbolizer(dictionary.modules());
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> native_frames;
  const auto frames_at = [&](uint64_t address) -> const std::vector<uint32_t>& {
    const auto [it, is_new] = native_frames.try_emplace(address);
    if (!is_new) return it->second;
    for (const NativeLocation& location : symbolizer.Resolve(address)) {
      it->second.push_back(AddFrame(NativeRow(location)));
    }
    return it->second;
  };
  std::vector<uint32_t> order;
  for (const auto& [id, stack] : dictionary.stacks()) order.push_back(id);
  std::sort(order.begin(), order.end());
  absl::flat_hash_map<uint32_t, uint32_t> ids;
  for (const uint32_t id : order) {
    const RawStack& stack = dictionary.stacks().at(id);
    const uint32_t stack_id = ids[id] = next_stack_id_++;
    uint32_t depth = 0;
    for (const PythonFrame& frame : stack.python) AddDepth(stack_id, depth++, AddFrame(PythonRow(dictionary, frame)));
    for (const uint64_t address : stack.native) {
      for (const uint32_t frame_id : frames_at(address)) AddDepth(stack_id, depth++, frame_id);
    }
  }
  return ids;
}

}  // namespace stallhound::capture::spool
