#pragma once

// Parses windows of events: simdjson first, and what it refuses by guesses (lenient_json.h).

#include <absl/status/status.h>

#include <cstdint>
#include <memory>

#include "capture/import/kineto/json_splitter.h"
#include "capture/import/kineto/kineto_event.h"

namespace stallhound::capture {

class KinetoEventSink {
 public:
  virtual ~KinetoEventSink() = default;
  // `event` is valid during the call. An event whose phase is not read has no more than its phase.
  virtual absl::Status OnEvent(const KinetoEvent& event) = 0;
};

// Not thread-safe. Memory: simdjson's index of one window.
class EventParser {
 public:
  EventParser();
  ~EventParser();

  // Hands every element of `piece` (kind kEvents) to `sink`, in file order. Errors: those of the sink.
  absl::Status Parse(JsonPiece& piece, KinetoEventSink& sink);

  int64_t event_count() const { return event_count_; }
  // Events that simdjson refused.
  int64_t forgiven_count() const { return forgiven_count_; }

 private:
  struct Simdjson;

  // Parses elements [first, last) and returns how many it handed over before simdjson refused.
  size_t ParseWindow(JsonPiece& piece, size_t first, size_t last, KinetoEventSink& sink, absl::Status* status);
  absl::Status ParseLeniently(std::string_view text, KinetoEventSink& sink);

  std::unique_ptr<Simdjson> simdjson_;
  KinetoEvent event_;
  int64_t event_count_ = 0;
  int64_t forgiven_count_ = 0;
};

}  // namespace stallhound::capture
