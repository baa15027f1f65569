#pragma once

// What the names in a Kineto trace mean, worked out once per distinct name.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/api/api_class.h"
#include "capture/reader.h"
#include "capture/types.h"

namespace stallhound::capture {

// An API call by its name: CUDA's, and HIP's by the CUDA call it mirrors.
struct ApiName {
  StringId api{};
  ApiClass api_class = ApiClass::kOther;
  bool is_hip = false;
};

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)".
struct MemoryName {
  CopyDirection direction = CopyDirection::kUnknown;
  std::optional<MemoryKind> source_kind;
  std::optional<MemoryKind> target_kind;
};

// "torch/nn/modules/linear.py(115): forward", "<built-in method item of Tensor object at 0x7f...>".
struct PythonName {
  std::string file;  // empty for built-in functions
  std::optional<int64_t> line;
  std::string function;
  bool is_user = false;
};

MemoryName ParseMemoryName(std::string_view name);
PythonName ParsePythonName(std::string_view name);
// "Buffer Flush", "Command Buffer Full", ...
OverheadKind ParseOverheadName(std::string_view name);
// "Stream Sync", "Event Sync", "Stream Wait Event", "Context Sync".
SyncType ParseSyncKind(std::string_view kind);

// The names of one trace. Ids are valid in strings(); views given in may end with the call.
class KinetoNames {
 public:
  // `raw` is the text between the quotes in the file.
  StringId Text(std::string_view raw);
  const ApiName& Api(std::string_view raw);
  const MemoryName& Memory(std::string_view raw);

  const StringTable& strings() const { return strings_; }
  StringTable& strings() { return strings_; }
  // Escapes, bytes and control characters in names that were not valid.
  int64_t forgiven_count() const { return forgiven_count_; }

 private:
  template <typename Value>
  using Cache = absl::flat_hash_map<std::string_view, Value>;

  std::string_view Keep(std::string_view raw) { return kept_.emplace_back(raw); }

  StringTable strings_;
  std::deque<std::string> kept_;
  Cache<StringId> texts_;
  Cache<ApiName> apis_;
  Cache<MemoryName> memory_;
  int64_t forgiven_count_ = 0;
};

}  // namespace stallhound::capture
