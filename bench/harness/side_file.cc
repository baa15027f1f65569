#include "bench/harness/side_file.h"

#include "base/json_writer.h"
#include "base/nvml/nvml.h"
#include "base/status_macros.h"

namespace stallhound::bench {
namespace {

template <typename Member>
void Column(JsonWriter& json, const char* key, const std::vector<Sample>& samples, Member Sample::*member) {
  json.Key(key);
  json.BeginArray();
  for (const Sample& sample : samples) json.Value(sample.*member);
  json.EndArray();
}

void OptionalWords(JsonWriter& json, const char* key, const std::optional<uint64_t>& reasons) {
  json.Key(key);
  if (!reasons) {
    json.Null();
    return;
  }
  json.BeginArray();
  for (const std::string& word : ThrottleWords(*reasons)) json.String(word);
  json.EndArray();
}

std::optional<std::string> NonEmpty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

void Write(JsonWriter& json, const CaseResult& result) {
  json.Field("checked_shape", result.checked_shape);
  json.Field("input_set_count", result.input_set_count);
  json.Field("is_stable", result.is_stable);
  OptionalWords(json, "throttle_reasons", result.throttle_reasons);
  Column(json, "time_ns", result.samples, &Sample::time_ns);
  Column(json, "host_ns", result.samples, &Sample::host_ns);
  Column(json, "sm_clock_hz", result.samples, &Sample::sm_clock_hz);
  json.Field("copy_method", result.copy_method);
  json.Field("copy_problem", NonEmpty(result.copy_problem));
  Column(json, "copy_ns", result.samples, &Sample::copy_ns);
  json.Field("graph_problem", NonEmpty(result.graph_problem));
  Column(json, "graph_time_ns", result.graph_samples, &Sample::time_ns);
}

}  // namespace

absl::StatusOr<SideFile> SideFile::Create(const std::string& path) {
  SH_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  return SideFile(std::move(file));
}

absl::Status SideFile::Add(const std::string& id, const CaseResult& result) {
  std::string line;
  JsonWriter json(&line);
  json.BeginObject();
  json.Field("id", id);
  json.Key("error");
  json.Null();
  Write(json, result);
  json.EndObject();
  SH_RETURN_IF_ERROR(json.Finish());
  return file_.Write(line + "\n");
}

absl::Status SideFile::AddError(const std::string& id, const absl::Status& error) {
  std::string line;
  JsonWriter json(&line);
  json.BeginObject();
  json.Field("id", id);
  json.Field("error", std::string(error.message()));
  json.EndObject();
  SH_RETURN_IF_ERROR(json.Finish());
  return file_.Write(line + "\n");
}

std::vector<std::string> ThrottleWords(uint64_t reasons) {
  std::vector<std::string> words;
  for (int bit = 0; bit < kNvmlThrottleBits; ++bit) {
    const char* word = NvmlThrottleReason(bit);
    if ((reasons >> bit & 1) != 0 && word != nullptr) words.emplace_back(word);
  }
  return words;
}

}  // namespace stallhound::bench
