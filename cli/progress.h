#pragma once

// How far long work is, on a terminal, and the way to stop it.

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "capture/reader.h"
#include "cli/console.h"

namespace stallhound::cli {

// One line on stderr that is written over, at most ten times a second; nothing if stderr is no terminal.
class Progress {
 public:
  // `what` is the work: "writing the capture". All must outlive it.
  Progress(Console& console, std::string what, const Clock& clock = SystemClock());
  Progress(const Progress&) = delete;
  // Wipes the line.
  ~Progress();

  void Update(uint64_t row_count);

 private:
  Console& console_;
  std::string what_;
  const Clock& clock_;
  int64_t printed_ns_;
  bool is_shown_ = false;
};

// A reader that shows its progress and ends with Cancelled after Ctrl-C (interrupt.h). Keeps a reference to `inner`.
class WatchedReader : public capture::CaptureReader {
 public:
  WatchedReader(capture::CaptureReader& inner, Progress& progress) : inner_(inner), progress_(progress) {}
  const capture::CaptureInfo& info() const override { return inner_.info(); }
  const capture::StringTable& strings() const override { return inner_.strings(); }
  absl::Status Read(const capture::TableSet& wanted, capture::CaptureVisitor& visitor) override;

 private:
  capture::CaptureReader& inner_;
  Progress& progress_;
  uint64_t row_count_ = 0;
};

}  // namespace stallhound::cli
