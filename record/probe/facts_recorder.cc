#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "record/probe/facts.h"
#include "record/probe/isolated.h"

namespace stallhound::record {
namespace {

// What CUDA, NVTX and the control functions look for.
constexpr const char* kExports[] = {"InitializeInjection",    "InitializeInjectionNvtx2", "stallhound_flush",
                                    "stallhound_range_start", "stallhound_range_end",     "stallhound_window_start",
                                    "stallhound_window_stop"};

std::string RecorderStep(const void* context) {
  const auto& options = *static_cast<const ProbeOptions*>(context);
  std::string text;
  JsonText json(text);
  void* library = dlopen(options.recorder.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* error = library == nullptr ? dlerror() : nullptr;
  json.Member("loads", library != nullptr);
  json.Member("error", error);
  json.Key("missing_symbols");
  json.BeginArray();
  for (const char* name : kExports) {
    if (library != nullptr && dlsym(library, name) == nullptr) json.Text(std::string_view(name));
  }
  json.EndArray();
  return text;
}

}  // namespace

void AddRecorderFacts(const ProbeOptions& options, JsonText& json, StepFailures& failures) {
  json.Key("recorder");
  json.BeginObject();
  json.Member("path", options.recorder.empty() ? nullptr : options.recorder.c_str());
  IsolatedResult result{IsolatedEnd::kNotStarted, ""};
  if (!options.recorder.empty()) {
    result = RunIsolated(RecorderStep, &options, options.timeout_s);
    if (result.end != IsolatedEnd::kFine) failures.Add("recorder");
  }
  json.Raw(result.end == IsolatedEnd::kFine ? result.text : R"("loads":null,"error":null,"missing_symbols":[])");
  json.EndObject();
}

}  // namespace stallhound::record
