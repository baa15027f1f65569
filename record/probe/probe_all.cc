#include "record/probe/facts.h"

namespace stallhound::record {
namespace {

constexpr int kProbeVersion = 1;

// A container that was started without the driver's `compute,utility` capability has the devices but not the libraries.
bool IsCapabilityMissing(const std::string& text) {
  const bool has_device = text.find("\"/dev/nvidia") != std::string::npos;
  const bool lacks_cuda = text.find("\"libcuda\":{\"found\":false") != std::string::npos;
  const bool lacks_nvml = text.find("\"nvml\":{\"found\":false") != std::string::npos;
  return has_device && (lacks_cuda || lacks_nvml);
}

}  // namespace

std::string ProbeAll(const ProbeOptions& options) {
  std::string text;
  JsonText json(text);
  StepFailures failures;
  json.BeginObject();
  json.Member("probe_version", kProbeVersion);
  AddHostFacts(options, json);
  AddEnvironmentFacts(json);
  AddCudaFacts(options, json, failures);
  AddNvmlFacts(options, json, failures);
  json.Member("container_capability_missing", IsCapabilityMissing(text));
  AddCuptiFacts(options, json, failures);
  AddRecorderFacts(options, json, failures);
  json.Key("crashed_steps");
  json.BeginArray();
  if (!failures.names.empty()) json.Raw(failures.names);
  json.EndArray();
  json.EndObject();
  return text;
}

}  // namespace stallhound::record
