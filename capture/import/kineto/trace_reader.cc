#include "capture/import/kineto/trace_reader.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <utility>

#include "base/status_macros.h"
#include "capture/import/kineto/event_parser.h"
#include "capture/import/kineto/json_splitter.h"
#include "capture/import/kineto/trace_builder.h"
#include "capture/import/kineto/trace_capture.h"
#include "capture/import/kineto/trace_join.h"

namespace stallhound::capture {
namespace {

// How the document was read, for checks after the last byte.
struct Reading {
  SplitterStats stats;
  int64_t forgiven_count = 0;
};

absl::StatusOr<Reading> ReadTrace(std::unique_ptr<ByteStream> stream, JoinedTrace* trace) {
  JsonSplitter splitter(std::move(stream));
  EventParser parser;
  TraceBuilder builder(&trace->rows);
  while (true) {
    SH_ASSIGN_OR_RETURN(JsonPiece piece, splitter.Next());
    if (piece.kind == JsonPiece::Kind::kEnd) break;
    if (piece.kind == JsonPiece::Kind::kKey) AddTopLevelKey(piece.key, piece.value, &trace->top_level);
    if (piece.kind == JsonPiece::Kind::kEvents) SH_RETURN_IF_ERROR(parser.Parse(piece, builder));
  }
  return Reading{splitter.stats(), parser.forgiven_count()};
}

std::string Names(const std::map<std::string, int64_t>& counts) {
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first.empty() ? "(none)" : entry.first, " (", entry.second, ")");
  });
}

// What else a file may be that has no events of Kineto's.
absl::Status CheckContent(const TraceOrigin& origin, const JoinedTrace& trace, const SplitterStats& stats) {
  const TraceRows& rows = trace.rows;
  if (!stats.is_bare_list && !stats.has_events_key) {
    return absl::InvalidArgumentError(absl::StrCat("importing ", origin.path,
                                                   ": JSON without traceEvents; its keys are ",
                                                   absl::StrJoin(trace.top_level.keys, ", ")));
  }
  if (rows.known_count > 0) return absl::OkStatus();
  if (!rows.unknown_categories.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("importing ", origin.path, ": Chrome events without a Kineto category; the file's categories are ",
                     Names(rows.unknown_categories),
                     ". Traces made from an Nsight Systems export by a converter: import the export itself"));
  }
  if (rows.without_phase_count > 0 || rows.unread_phase_count > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "importing ", origin.path, ": nothing in it is GPU or operator activity: ", rows.without_phase_count,
        " entries without ph, ", rows.unread_phase_count,
        " flow or asynchronous events, as in request traces of inference servers"));
  }
  return absl::OkStatus();
}

absl::Status CheckEnd(const TraceOrigin& origin, const SplitterStats& stats, TraceRows* rows) {
  if (!stats.truncated) return absl::OkStatus();
  if (absl::IsOutOfRange(stats.read_error)) return stats.read_error;
  const std::string cause = stats.read_error.ok() ? std::string("the JSON document is truncated: unexpected end")
                                                  : std::string(stats.read_error.message());
  if (!origin.partial) {
    return absl::DataLossError(absl::StrCat("importing ", origin.path, ": ", cause, " after ", rows->event_count,
                                            " events; `stallhound import --partial` keeps what came before"));
  }
  rows->losses.Add(LossCounter::kTruncatedFile, 1, cause);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImportedCapture>> OpenTrace(std::unique_ptr<ByteStream> stream,
                                                           const TraceOrigin& origin) {
  auto trace = std::make_unique<JoinedTrace>();
  absl::StatusOr<Reading> reading = ReadTrace(std::move(stream), trace.get());
  if (absl::IsInvalidArgument(reading.status())) {
    return absl::InvalidArgumentError(absl::StrCat("importing ", origin.path, ": ", reading.status().message()));
  }
  SH_RETURN_IF_ERROR(reading.status());
  SH_RETURN_IF_ERROR(CheckEnd(origin, reading->stats, &trace->rows));
  SH_RETURN_IF_ERROR(CheckContent(origin, *trace, reading->stats));
  Losses& losses = trace->rows.losses;
  losses.Add(LossCounter::kForgivenJson, reading->forgiven_count,
             "events that no JSON parser accepts: escapes, quotes or control characters");
  losses.Add(LossCounter::kForgivenJson, reading->stats.forgiven_count, "broken quotes, or a list without its end");
  losses.Add(LossCounter::kForgivenJson, trace->top_level.forgiven_count,
             "keys that no JSON parser accepts: escapes or control characters");
  trace->rows.tail_bytes = reading->stats.tail_bytes;
  if (reading->stats.tail_bytes > 0) {
    losses.Add(LossCounter::kForgivenJson, 1, "data behind the end of the JSON document was not read");
  }
  losses.Add(LossCounter::kUnknownEvent, reading->stats.skipped_count, "entries that are no events, or too long");
  SH_RETURN_IF_ERROR(JoinTrace(trace.get()));
  return std::make_unique<TraceCapture>(std::move(trace), origin.head, reading->stats.bytes,
                                        reading->stats.is_bare_list);
}

}  // namespace stallhound::capture
