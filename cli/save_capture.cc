#include "cli/save_capture.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"
#include "capture/file/capture_file.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace stallhound::cli {
namespace {

using capture::LossCounter;

// How often a spool was found cut, damaged or not closed: what another copy of the same spool may be without.
class CutCounts : public capture::CaptureVisitor {
 public:
  using capture::CaptureVisitor::On;
  absl::Status On(const capture::LossBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      const LossCounter counter = batch.counter[i];
      const bool is_cut = counter == LossCounter::kSpoolTruncated || counter == LossCounter::kCorruptChunk ||
                          counter == LossCounter::kCorruptRecord || counter == LossCounter::kKilled;
      if (is_cut) counts_[counter] += batch.count[i];
    }
    return absl::OkStatus();
  }
  const std::map<LossCounter, int64_t>& counts() const { return counts_; }

 private:
  std::map<LossCounter, int64_t> counts_;
};

// What `recording` lost and `kept` did not; nullopt: nothing, so that it may replace it.
absl::StatusOr<std::optional<std::string>> LostSince(capture::CaptureReader& kept, capture::CaptureReader& recording) {
  CutCounts before;
  CutCounts now;
  SH_RETURN_IF_ERROR(kept.Read(capture::Tables({capture::Table::kLoss}), before));
  SH_RETURN_IF_ERROR(recording.Read(capture::Tables({capture::Table::kLoss}), now));
  for (const auto& [counter, count] : now.counts()) {
    const auto known = before.counts().find(counter);
    if (known == before.counts().end() || known->second < count) return capture::Info(counter).meaning;
  }
  if (!now.counts().empty() && recording.info().end_ns < kept.info().end_ns) return "ends earlier";
  if ((kept.info().recorded & ~recording.info().recorded).any()) {
    return "lacks tables, such as those of a trace that --kineto joined";
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<std::string>> CaptureOfUuid(const std::string& home, const std::string& uuid) {
  SH_ASSIGN_OR_RETURN(const std::vector<Recording> recordings, ListRecordings(home, uuid));
  for (const Recording& recording : recordings) {
    if (!recording.is_spool && recording.uuid == uuid) return recording.path;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::string> SaveCapture(const std::string& home, OpenedRecording& recording, Console& console) {
  const capture::CaptureInfo& info = recording.reader->info();
  const int64_t started_ns = info.epoch_ns.value_or(SystemClock().RealtimeNs());
  SH_ASSIGN_OR_RETURN(std::string path, NewCapturePath(home, info.uuid, started_ns));
  SH_ASSIGN_OR_RETURN(const std::optional<std::string> kept, CaptureOfUuid(home, info.uuid));
  if (kept) {
    path = *kept;
    // One that can't be read is worth less than any recording.
    const absl::StatusOr<std::unique_ptr<capture::CaptureReader>> reader = capture::OpenCaptureFile(path);
    absl::StatusOr<std::optional<std::string>> lost = std::optional<std::string>();
    if (reader.ok()) lost = LostSince(**reader, *recording.reader);
    if (lost.ok() && *lost) {
      console.Warn(fmt::format(
          "keeping this recording as a capture: '{}' holds more of it and stays as it is (of the new one: {})", path,
          **lost));
      return path;
    }
  }
  Progress progress(console, "writing the capture");
  const auto on_rows = [&progress](uint64_t row_count) {
    progress.Update(row_count);
    return InterruptSignal() == 0;
  };
  SH_RETURN_IF_ERROR(capture::WriteCaptureFile(*recording.reader, path, on_rows));
  return path;
}

}  // namespace stallhound::cli
