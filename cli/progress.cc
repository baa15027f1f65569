#include "cli/progress.h"

#include <fmt/format.h>

#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "cli/interrupt.h"

namespace stallhound::cli {
namespace {

constexpr int64_t kIntervalNs = 100'000'000;

class WatchedVisitor : public capture::CaptureVisitor {
 public:
  WatchedVisitor(capture::CaptureVisitor& target, Progress& progress, uint64_t& row_count)
      : target_(target), progress_(progress), row_count_(row_count) {}

#define SH_PASS_ON(Type, table, COLUMNS)                        \
  absl::Status On(const capture::Type##Batch& batch) override { \
    SH_RETURN_IF_ERROR(CheckInterrupt());                       \
    progress_.Update(row_count_ += batch.size);                 \
    return target_.On(batch);                                   \
  }
  SH_CAPTURE_TABLES(SH_PASS_ON)
#undef SH_PASS_ON

 private:
  capture::CaptureVisitor& target_;
  Progress& progress_;
  uint64_t& row_count_;
};

}  // namespace

Progress::Progress(Console& console, std::string what, const Clock& clock)
    : console_(console), what_(std::move(what)), clock_(clock), printed_ns_(clock.MonotonicNs()) {}

Progress::~Progress() {
  if (is_shown_) console_.Err("\r\x1b[K");
}

void Progress::Update(uint64_t row_count) {
  if (!console_.err_is_terminal() || clock_.MonotonicNs() - printed_ns_ < kIntervalNs) return;
  printed_ns_ = clock_.MonotonicNs();
  is_shown_ = true;
  console_.Err(fmt::format("\r{}: {} rows\x1b[K", what_, FormatCount(static_cast<int64_t>(row_count))));
}

absl::Status WatchedReader::Read(const capture::TableSet& wanted, capture::CaptureVisitor& visitor) {
  WatchedVisitor watched(visitor, progress_, row_count_);
  return inner_.Read(wanted, watched);
}

}  // namespace stallhound::cli
