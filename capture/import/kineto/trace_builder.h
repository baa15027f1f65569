#pragma once

// Turns events into rows.

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "capture/import/kineto/event_parser.h"
#include "capture/import/kineto/trace_rows.h"

namespace stallhound::capture {

// What the importer reads of a category ("cat"), whatever its spelling over the years.
enum class EventCategory : uint8_t {
  kUnknown,
  kKernel,
  kCopy,
  kMemset,
  kRuntime,
  kDriver,
  kSync,
  kCudaEvent,
  kOperator,
  kAnnotation,
  kGpuAnnotation,
  kPythonFunction,
  kOverhead,
  kInstant,
  kHardwareCounter,
  kProfilerRange,
  kSkipped,  // known to hold nothing: flows, the profiler's own span
};

EventCategory ParseCategory(std::string_view category);

class TraceBuilder : public KinetoEventSink {
 public:
  explicit TraceBuilder(TraceRows* rows) : rows_(*rows) {}
  absl::Status OnEvent(const KinetoEvent& event) override;

 private:
  struct Times {
    int64_t start_ns;
    int64_t end_ns;
  };

  template <typename Sorter, typename Row>
  void Keep(Sorter& sorter, const Row& row) {
    if (status_.ok()) status_ = sorter.Add(row);
  }

  EventCategory CategoryOf(const KinetoEvent& event);
  void CountOddities(const KinetoEvent& event);
  void CountUnknown(const KinetoEvent& event);
  void OnMetadata(const KinetoEvent& event);
  void OnInstant(const KinetoEvent& event, EventCategory category);
  void OnComplete(const KinetoEvent& event, EventCategory category);
  void OnUntimed(const KinetoEvent& event, EventCategory category);
  void OnKernel(const KinetoEvent& event, Times times);
  void OnCopy(const KinetoEvent& event, Times times);
  void OnMemset(const KinetoEvent& event, Times times);
  void OnCall(const KinetoEvent& event, Times times, ApiLayer layer);
  void OnSync(const KinetoEvent& event, Times times);
  void OnCudaEvent(const KinetoEvent& event, Times times);
  void OnOverhead(const KinetoEvent& event, Times times);
  void OnRange(const KinetoEvent& event, Times times, EventCategory category);

  // nullopt, and counted, if the event has no time that can be used.
  std::optional<Times> TimesOf(const KinetoEvent& event, bool on_gpu);
  uint32_t ThreadOf(const KinetoEvent& event, bool on_gpu);
  uint32_t DeviceOf(const KinetoEvent& event);
  // Of a copy or memset; 0 and a loss where the event does not say them, or nothing that can be.
  uint64_t BytesOf(const KinetoEvent& event);
  uint32_t StreamOf(const KinetoEvent& event);
  uint32_t ShapeOf(const KinetoEvent& event);
  void NoteStream(std::optional<uint32_t> context_id, uint32_t stream_id, uint32_t device_id);
  uint32_t ProcessOf(std::string_view pid);
  int64_t SystemId(std::string_view token);

  struct ShapeKey {
    StringId name;
    std::array<int64_t, 8> numbers;
    bool operator==(const ShapeKey&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const ShapeKey& key) {
      return H::combine(std::move(h), static_cast<uint32_t>(key.name), key.numbers);
    }
  };

  TraceRows& rows_;
  absl::Status status_;
  absl::flat_hash_map<std::string, EventCategory> categories_;
  absl::flat_hash_map<std::tuple<int64_t, int64_t, bool>, uint32_t> threads_;
  absl::flat_hash_map<int64_t, uint32_t> processes_;
  absl::flat_hash_map<ShapeKey, uint32_t> shapes_;
  absl::flat_hash_map<std::array<uint32_t, 3>, bool> streams_;
  std::string last_category_;
  EventCategory last_category_value_ = EventCategory::kUnknown;
};

}  // namespace stallhound::capture
