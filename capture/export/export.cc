#include "capture/export/export.h"

#include <memory>

#include "base/status_macros.h"
#include "capture/export/timeline.h"
#include "capture/export/trace_sink.h"

namespace stallhound::capture {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

std::unique_ptr<TraceSink> MakeSink(ExportFormat format, const CaptureInfo& info, const ExportOutput& output) {
  switch (format) {
    case ExportFormat::kPerfetto:
      return MakePerfettoSink(output);
    case ExportFormat::kChrome:
      return MakeChromeSink(info, output);
    case ExportFormat::kCsv:
      break;
  }
  return MakeCsvSink(output);
}

}  // namespace

absl::StatusOr<ExportSummary> Export(CaptureReader& reader, const ExportOptions& options, const ExportOutput& output) {
  ExportSummary summary;
  std::string piece;
  const ExportOutput gather = [&](std::string_view text) -> absl::Status {
    summary.byte_count += text.size();
    piece += text;
    if (piece.size() < kPieceBytes) return absl::OkStatus();
    absl::Status status = output(piece);
    piece.clear();
    return status;
  };
  const std::unique_ptr<TraceSink> sink = MakeSink(options.format, reader.info(), gather);
  Timeline timeline(reader, options, *sink);
  SH_RETURN_IF_ERROR(reader.Read(Timeline::Dimensions(), timeline));
  SH_RETURN_IF_ERROR(timeline.AddExtraTracks());
  SH_RETURN_IF_ERROR(reader.Read(Timeline::Events(), timeline));
  SH_RETURN_IF_ERROR(sink->Finish());
  SH_RETURN_IF_ERROR(output(piece));
  summary.slice_count = timeline.slice_count();
  summary.untimed_copy_count = timeline.untimed_copy_count();
  return summary;
}

}  // namespace stallhound::capture
