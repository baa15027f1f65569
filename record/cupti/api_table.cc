#include "record/cupti/api_table.h"

namespace stallhound::record {

using capture::ApiClass;

bool IsEventCall(ApiClass api_class) noexcept {
  return api_class == ApiClass::kEventRecord || api_class == ApiClass::kStreamWaitEvent;
}

namespace {

bool HasPrefix(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

CallRole RoleOf(std::string_view name) {
  const std::string_view base = name.substr(HasPrefix(name, "cuda") ? 4 : 2);
  if (HasPrefix(base, "StreamBeginCapture")) return CallRole::kBeginCapture;
  if (HasPrefix(base, "StreamEndCapture")) return CallRole::kEndCapture;
  if (HasPrefix(base, "ProfilerStart")) return CallRole::kProfilerStart;
  if (HasPrefix(base, "ProfilerStop")) return CallRole::kProfilerStop;
  return CallRole::kOrdinary;
}

bool HasActivity(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kKernelLaunch:
    case ApiClass::kGraphLaunch:
    case ApiClass::kMemset:
    case ApiClass::kGraphInstantiate:
      return true;
    default:
      return false;
  }
}

// Calls whose parameters or results matter but that do not stall of themselves.
bool HasCallbackOnly(ApiClass api_class) {
  return api_class == ApiClass::kQuery || api_class == ApiClass::kStreamOrderedAllocate ||
         api_class == ApiClass::kStreamOrderedFree || api_class == ApiClass::kHostFunction || IsEventCall(api_class);
}

}  // namespace

ApiEntry MakeApiEntry(const char* name) noexcept {
  const std::string_view text = name;
  ApiEntry entry;
  entry.name = name;
  entry.parameters = FindCallParameters(text);
  entry.copy = FindCopyCall(text);
  entry.api_class = capture::ClassifyApi(text);
  entry.role = RoleOf(text);
  entry.is_per_thread_stream =
      text.find("_ptsz") != std::string_view::npos || text.find("_ptds") != std::string_view::npos;
  // An asynchronous copy stalls if an end is pageable, which is known later.
  entry.has_stack = capture::MaySyncHost(entry.api_class) || entry.api_class == ApiClass::kCopyAsync;
  entry.has_callback = entry.has_stack || HasCallbackOnly(entry.api_class);
  entry.has_activity = !entry.has_callback && HasActivity(entry.api_class);
  return entry;
}

void ApiTable::Build(const CuptiApi& api) noexcept {
  constexpr CUpti_CallbackDomain kDomains[] = {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API};
  for (Layer layer : {kRuntime, kDriver}) {
    counts_[layer] = 1;
    for (uint32_t cbid = 1; cbid < kMaxId; ++cbid) {
      const char* name = nullptr;
      entries_[layer][cbid] = ApiEntry();
      if (api.get_callback_name(kDomains[layer], cbid, &name) != CUPTI_SUCCESS || name == nullptr) continue;
      const bool is_cuda = HasPrefix(name, "cu") || HasPrefix(name, "__cuda");
      if (!is_cuda) continue;
      entries_[layer][cbid] = MakeApiEntry(name);
      counts_[layer] = cbid + 1;
    }
  }
}

void ApiTable::UseCallbacksForActivity() noexcept {
  for (Layer layer : {kRuntime, kDriver}) {
    for (uint32_t cbid = 1; cbid < counts_[layer]; ++cbid) {
      ApiEntry& entry = entries_[layer][cbid];
      entry.has_callback = entry.has_callback || entry.has_activity;
      entry.has_activity = false;
    }
  }
}

}  // namespace stallhound::record
