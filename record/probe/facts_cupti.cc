#include <dlfcn.h>
#include <limits.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "record/control/environment.h"
#include "record/cupti/cupti_api.h"
#include "record/cupti/cupti_library.h"
#include "record/probe/facts.h"
#include "record/probe/file_text.h"
#include "record/probe/isolated.h"

namespace stallhound::record {
namespace {

constexpr char kCudaLibrary[] = "libcuda.so.1";

void* OpenCuda(const ProbeOptions& options) {
  return dlopen(options.cuda_path != nullptr ? options.cuda_path : kCudaLibrary, RTLD_LAZY | RTLD_LOCAL);
}

int DriverVersion(void* cuda) {
  auto* get_version = cuda != nullptr ? reinterpret_cast<int (*)(int*)>(dlsym(cuda, "cuDriverGetVersion")) : nullptr;
  int version = 0;
  return get_version != nullptr && get_version(&version) == 0 ? version : 0;
}

// "13.0" from 130001; up to 12.9 CUPTI counted its versions (cupti_version.h).
std::optional<std::string> ToolkitVersion(uint32_t api_version) {
  if (api_version >= 100000) {
    return std::to_string(api_version / 10000) + "." + std::to_string(api_version % 10000 / 100);
  }
  constexpr const char* kFrom18[] = {"11.8", "12.0", "12.2", "12.3", "12.4", "12.5",
                                     "12.6", "12.7", "12.8", "12.9", "12.9"};
  constexpr uint32_t kCount = sizeof(kFrom18) / sizeof(kFrom18[0]);
  if (api_version < 18 || api_version >= 18 + kCount) return std::nullopt;
  return kFrom18[api_version - 18];
}

const char* OriginOf(const char* path, const char* chosen) {
  if (chosen != nullptr && strcmp(path, chosen) == 0) return "STALLHOUND_CUPTI";
  return strchr(path, '/') == nullptr ? "loader" : "toolkit";
}

struct Cupti {
  void* library = nullptr;
  std::string candidate;  // as it was opened
  std::string error;
};

// What the recorder would open in a program that has no libcupti mapped.
Cupti OpenChosen(const CuptiCandidates& candidates) {
  Cupti cupti;
  for (int i = 0; i < candidates.count && cupti.library == nullptr; ++i) {
    cupti.library = dlopen(candidates.paths[i], RTLD_NOW | RTLD_LOCAL);
    if (cupti.library != nullptr) {
      cupti.candidate = candidates.paths[i];
      cupti.error.clear();
    } else {
      cupti.error = dlerror();
    }
  }
  if (candidates.count == 0)
    cupti.error = "no libcupti of the driver's major version in /usr/local or the loader's path";
  return cupti;
}

CuptiCandidates ListCandidates(void* cuda) {
  CuptiCandidates candidates{};
  ListCuptiCandidates(FindMappedLibraries(), getenv(kCuptiPath), DriverVersion(cuda), "/usr/local", candidates);
  return candidates;
}

std::string CuptiStep(const void* context) {
  unsetenv("CUDA_INJECTION64_PATH");
  void* cuda = OpenCuda(*static_cast<const ProbeOptions*>(context));
  const auto candidates = std::make_unique<CuptiCandidates>(ListCandidates(cuda));
  const Cupti cupti = OpenChosen(*candidates);
  CuptiApi api;
  const char* missing = cupti.library != nullptr ? ResolveCupti(cupti.library, api) : nullptr;
  uint32_t api_version = 0;
  const bool has_version = cupti.library != nullptr && api.get_version != nullptr && api.get_version(&api_version) == 0;

  std::string text;
  JsonText json(text);
  json.Member("found", cupti.library != nullptr && missing == nullptr);
  char path[PATH_MAX] = "";
  if (cupti.library != nullptr) dlinfo(cupti.library, RTLD_DI_ORIGIN, path);
  const size_t slash = cupti.candidate.rfind('/');
  const std::string base = cupti.candidate.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string full = std::string(path) + "/" + base;
  json.Member("path", cupti.library != nullptr ? std::optional(RealPath(full).value_or(full)) : std::nullopt);
  json.Member("origin", cupti.library != nullptr ? OriginOf(cupti.candidate.c_str(), getenv(kCuptiPath)) : nullptr);
  json.Member("version", has_version ? ToolkitVersion(api_version) : std::nullopt);
  json.Member("api_version", has_version ? std::optional(api_version) : std::nullopt);
  std::optional<std::string> error;
  if (!cupti.error.empty()) error = cupti.error;
  if (missing != nullptr) error = std::string("the library has no ") + missing;
  json.Member("error", error);
  json.Key("candidates");
  json.BeginArray();
  for (int i = 0; i < candidates->count; ++i) json.Text(std::string_view(candidates->paths[i]));
  json.EndArray();
  return text;
}

// Who holds CUPTI in a program of this environment: a tool that the driver injects has subscribed once cuInit is over.
std::string HolderStep(const void* context) {
  void* cuda = OpenCuda(*static_cast<const ProbeOptions*>(context));
  const auto candidates = std::make_unique<CuptiCandidates>(ListCandidates(cuda));
  auto* init = cuda != nullptr ? reinterpret_cast<int (*)(unsigned)>(dlsym(cuda, "cuInit")) : nullptr;
  if (init != nullptr) init(0);
  const MappedLibraries mapped = FindMappedLibraries();
  void* library = mapped.cupti_count > 0 ? dlopen(mapped.cupti[0], RTLD_NOW | RTLD_NOLOAD) : nullptr;
  if (library == nullptr) library = OpenChosen(*candidates).library;
  CuptiApi api;
  std::optional<int> result;
  char holder[128] = "";
  if (library != nullptr && ResolveCupti(library, api) == nullptr) {
    CUpti_SubscriberHandle subscriber = nullptr;
    const auto ignore = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
    SubscriberParams params = {sizeof(params), "stallhound_probe", holder, sizeof(holder) - 1};
    result =
        static_cast<int>(api.subscribe_v2 != nullptr
                             ? api.subscribe_v2(&subscriber, static_cast<CUpti_CallbackFunc>(ignore), nullptr, &params)
                             : api.subscribe(&subscriber, static_cast<CUpti_CallbackFunc>(ignore), nullptr));
    if (*result == 0) api.unsubscribe(subscriber);
  }
  const char* error = nullptr;
  auto* describe = library != nullptr
                       ? reinterpret_cast<int (*)(int, const char**)>(dlsym(library, "cuptiGetResultString"))
                       : nullptr;
  if (result.value_or(0) != 0 && (describe == nullptr || describe(*result, &error) != 0)) error = "unknown error";
  std::string text;
  JsonText json(text);
  json.Member("subscribe_result", result);
  json.Member("subscribe_error", error);
  json.Member("is_held",
              result ? std::optional(*result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) : std::nullopt);
  json.Member("name", holder[0] != '\0' ? holder : nullptr);
  return text;
}

}  // namespace

void AddCuptiFacts(const ProbeOptions& options, JsonText& json, StepFailures& failures) {
  const IsolatedResult cupti = RunIsolated(CuptiStep, &options, options.timeout_s);
  const IsolatedResult holder = RunIsolated(HolderStep, &options, options.timeout_s);
  if (cupti.end != IsolatedEnd::kFine || holder.end != IsolatedEnd::kFine) failures.Add("cupti");
  json.Key("cupti");
  json.BeginObject();
  json.Raw(
      cupti.end == IsolatedEnd::kFine
          ? cupti.text
          : R"("found":null,"path":null,"origin":null,"version":null,"api_version":null,"error":null,"candidates":[])");
  json.EndObject();
  json.Key("cupti_holder");
  json.BeginObject();
  json.Raw(holder.end == IsolatedEnd::kFine
               ? holder.text
               : R"("subscribe_result":null,"subscribe_error":null,"is_held":null,"name":null)");
  json.EndObject();
}

}  // namespace stallhound::record
