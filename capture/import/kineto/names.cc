#include "capture/import/kineto/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "capture/import/kineto/lenient_json.h"
#include "capture/import/kineto/python_paths.h"

namespace stallhound::capture {
namespace {

template <typename Value, size_t size>
Value LookUp(const std::pair<std::string_view, Value> (&table)[size], std::string_view name, Value otherwise) {
  for (const auto& [text, value] : table) {
    if (text == name) return value;
  }
  return otherwise;
}

constexpr std::pair<std::string_view, CopyDirection> kDirections[] = {
    {"HtoD", CopyDirection::kHostToDevice},
    {"DtoH", CopyDirection::kDeviceToHost},
    {"HtoA", CopyDirection::kHostToArray},
    {"AtoH", CopyDirection::kArrayToHost},
    {"AtoA", CopyDirection::kArrayToArray},
    {"AtoD", CopyDirection::kArrayToDevice},
    {"DtoA", CopyDirection::kDeviceToArray},
    {"DtoD", CopyDirection::kDeviceToDevice},
    {"HtoH", CopyDirection::kHostToHost},
    {"PtoP", CopyDirection::kPeerToPeer},
    {"CopyHostToDevice", CopyDirection::kHostToDevice},
    {"CopyDeviceToHost", CopyDirection::kDeviceToHost},
    {"CopyDeviceToDevice", CopyDirection::kDeviceToDevice},
};

constexpr std::pair<std::string_view, MemoryKind> kMemoryKinds[] = {
    {"Pageable", MemoryKind::kPageable},
    {"Pinned", MemoryKind::kPinned},
    {"Device", MemoryKind::kDevice},
    {"Array", MemoryKind::kArray},
    {"Managed", MemoryKind::kManaged},
    {"Device Static", MemoryKind::kDeviceStatic},
    {"Managed Static", MemoryKind::kManagedStatic},
};

constexpr std::pair<std::string_view, OverheadKind> kOverheads[] = {
    {"Driver Compiler", OverheadKind::kDriverCompiler},
    {"Buffer Flush", OverheadKind::kBufferFlush},
    {"Instrumentation", OverheadKind::kInstrumentation},
    {"Resource", OverheadKind::kResource},
    {"Runtime Triggered Module Loading", OverheadKind::kModuleLoading},
    {"Lazy Function Loading", OverheadKind::kLazyFunctionLoading},
    {"Command Buffer Full", OverheadKind::kCommandBufferFull},
    {"Activity Buffer Request", OverheadKind::kActivityBufferRequest},
    {"UVM Activity Init", OverheadKind::kUvmInit},
};

constexpr std::pair<std::string_view, SyncType> kSyncKinds[] = {
    {"Event Sync", SyncType::kEventSynchronize},
    {"Stream Wait Event", SyncType::kStreamWaitEvent},
    {"Stream Sync", SyncType::kStreamSynchronize},
    {"Context Sync", SyncType::kContextSynchronize},
};

std::optional<MemoryKind> FindKind(std::string_view name) {
  const MemoryKind kind = LookUp(kMemoryKinds, name, MemoryKind::kUnknown);
  return kind == MemoryKind::kUnknown ? std::nullopt : std::optional(kind);
}

// Addresses differ from run to run: "<... object at 0x7f12>" -> "<... object>".
std::string WithoutAddress(std::string_view name) {
  const size_t at = name.find(" at 0x");
  if (at == std::string_view::npos) return std::string(name);
  size_t end = at + 6;
  while (end < name.size() && std::isxdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
  return std::string(name.substr(0, at)) + std::string(name.substr(end));
}

// The CUDA call that a HIP call mirrors: hipExtModuleLaunchKernel -> cudaLaunchKernel.
std::string CudaNameOf(std::string_view hip) {
  hip.remove_prefix(3);
  for (const std::string_view prefix : {std::string_view("Ext"), std::string_view("Module")}) {
    if (hip.substr(0, prefix.size()) == prefix && hip.find("Launch") != std::string_view::npos)
      hip.remove_prefix(prefix.size());
  }
  return "cuda" + std::string(hip);
}

}  // namespace

MemoryName ParseMemoryName(std::string_view name) {
  MemoryName result;
  const size_t open = name.find('(');
  const size_t close = name.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return result;
  const std::string_view kinds = name.substr(open + 1, close - open - 1);
  if (const size_t arrow = kinds.find(" -> "); arrow != std::string_view::npos) {
    result.source_kind = FindKind(kinds.substr(0, arrow));
    result.target_kind = FindKind(kinds.substr(arrow + 4));
  } else {
    result.target_kind = FindKind(kinds);
  }
  constexpr std::string_view kPrefix = "Memcpy ";
  if (name.substr(0, kPrefix.size()) == kPrefix && open > kPrefix.size()) {
    std::string_view direction = name.substr(kPrefix.size(), open - kPrefix.size());
    while (!direction.empty() && direction.back() == ' ') direction.remove_suffix(1);
    result.direction = LookUp(kDirections, direction, CopyDirection::kUnknown);
  }
  return result;
}

PythonName ParsePythonName(std::string_view name) {
  PythonName result;
  const size_t separator = name.find("): ");
  const size_t open = name.rfind('(', separator);
  if (separator == std::string_view::npos || open == std::string_view::npos || name[0] == '<') {
    result.function = WithoutAddress(name);
    return result;
  }
  int64_t line = 0;
  const char* const digits_end = name.data() + separator;
  const auto [rest, error] = std::from_chars(name.data() + open + 1, digits_end, line);
  if (error == std::errc() && rest == digits_end && line > 0) result.line = line;
  const PythonPath path = ShortenPythonPath(name.substr(0, open));
  result.file = path.file;
  result.is_user = path.is_user;
  result.function = WithoutAddress(name.substr(separator + 3));
  return result;
}

OverheadKind ParseOverheadName(std::string_view name) { return LookUp(kOverheads, name, OverheadKind::kUnknown); }

SyncType ParseSyncKind(std::string_view kind) { return LookUp(kSyncKinds, kind, SyncType::kUnknown); }

StringId KinetoNames::Text(std::string_view raw) {
  if (const auto it = texts_.find(raw); it != texts_.end()) return it->second;
  const bool plain = std::none_of(raw.begin(), raw.end(), [](char c) { return c == '\\' || c < ' '; });
  const StringId id = plain ? strings_.Intern(raw) : strings_.Intern(Unescape(raw, &forgiven_count_));
  texts_.emplace(Keep(raw), id);
  return id;
}

const ApiName& KinetoNames::Api(std::string_view raw) {
  if (const auto it = apis_.find(raw); it != apis_.end()) return it->second;
  const std::string text = Unescape(raw, &forgiven_count_);
  ApiName name;
  name.is_hip = text.rfind("hip", 0) == 0;
  name.api = strings_.Intern(NormalizeApiName(text));
  name.api_class = ClassifyApi(name.is_hip ? CudaNameOf(text) : text);
  return apis_.emplace(Keep(raw), name).first->second;
}

const MemoryName& KinetoNames::Memory(std::string_view raw) {
  if (const auto it = memory_.find(raw); it != memory_.end()) return it->second;
  return memory_.emplace(Keep(raw), ParseMemoryName(raw)).first->second;
}

}  // namespace stallhound::capture
