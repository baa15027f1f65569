#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "capture/export/trace_sink.h"

namespace stallhound::capture {
namespace {

// RFC 4180: a field with a comma, quote or line end is quoted, its quotes doubled.
std::string Field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

class CsvSink : public TraceSink {
 public:
  explicit CsvSink(const ExportOutput& output) : output_(output) {}

  absl::Status AddTrack(TrackId id, const Track& track) override;
  absl::Status Add(const Slice& slice) override;
  absl::Status Finish() override { return WriteHeader(); }

 private:
  absl::Status WriteHeader();

  const ExportOutput& output_;
  bool has_header_ = false;
  std::vector<std::string> prefixes_;  // "group,track," by track
};

absl::Status CsvSink::WriteHeader() {
  if (has_header_) return absl::OkStatus();
  has_header_ = true;
  return output_("group,track,category,name,start_ns,duration_ns,arguments\r\n");
}

absl::Status CsvSink::AddTrack(TrackId id, const Track& track) {
  if (id >= prefixes_.size()) prefixes_.resize(size_t{id} + 1);
  const std::string group = track.parent ? prefixes_[*track.parent] : Field(track.name) + ",";
  prefixes_[id] = track.parent ? group + Field(track.name) + "," : group;
  return absl::OkStatus();
}

absl::Status CsvSink::Add(const Slice& slice) {
  SH_RETURN_IF_ERROR(WriteHeader());
  std::string arguments;
  for (const Argument& argument : slice.arguments) {
    if (!arguments.empty()) arguments += "; ";
    arguments += argument.name;
    arguments += '=';
    if (const auto* number = std::get_if<int64_t>(&argument.value)) {
      arguments += fmt::format("{}", *number);
    } else {
      arguments += std::get<std::string_view>(argument.value);
    }
  }
  return output_(fmt::format("{}{},{},{},{},{}\r\n", prefixes_[slice.track], Field(slice.category), Field(slice.name),
                             slice.start_ns, slice.end_ns - slice.start_ns, Field(arguments)));
}

}  // namespace

std::unique_ptr<TraceSink> MakeCsvSink(const ExportOutput& output) { return std::make_unique<CsvSink>(output); }

}  // namespace stallhound::capture
