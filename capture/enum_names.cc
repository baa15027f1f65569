#include "capture/enum_names.h"

#include <array>

namespace stallhound::capture {
namespace {

using Names = absl::Span<const std::string_view>;

constexpr std::string_view kApiLayers[] = {"runtime", "driver"};
constexpr std::string_view kMemoryKinds[] = {"unknown", "pageable", "pinned",        "device",
                                             "array",   "managed",  "device-static", "managed-static"};
constexpr std::string_view kCopyDirections[] = {
    "unknown",         "host-to-device",  "device-to-host",   "host-to-array", "array-to-host", "array-to-array",
    "array-to-device", "device-to-array", "device-to-device", "host-to-host",  "peer-to-peer"};
constexpr std::string_view kSyncTypes[] = {"unknown", "event-synchronize", "stream-wait-event", "stream-synchronize",
                                           "context-synchronize"};
constexpr std::string_view kStreamFlags[] = {"unknown", "default", "non-blocking", "null", "per-thread"};
constexpr std::string_view kRangeKinds[] = {"push-pop", "start-end",  "mark",           "operator",
                                            "step",     "annotation", "python-function"};
constexpr std::string_view kFrameKinds[] = {"python", "native"};
constexpr std::string_view kOverheadKinds[] = {
    "unknown",        "driver-compiler",       "buffer-flush",        "instrumentation",         "resource",
    "module-loading", "lazy-function-loading", "command-buffer-full", "activity-buffer-request", "uvm-init"};

constexpr size_t kApiClassCount = static_cast<size_t>(kLastApiClass) + 1;
constexpr size_t kLossCounterCount = static_cast<size_t>(LossCounter::kCount);

}  // namespace

template <>
Names EnumNames<ApiClass>() {
  static const auto kNames = [] {
    std::array<std::string_view, kApiClassCount> names;
    for (size_t i = 0; i < names.size(); ++i) names[i] = ApiClassName(static_cast<ApiClass>(i));
    return names;
  }();
  return kNames;
}

template <>
Names EnumNames<LossCounter>() {
  static const auto kNames = [] {
    std::array<std::string_view, kLossCounterCount> names;
    for (size_t i = 0; i < names.size(); ++i) names[i] = kLossCounters[i].id;
    return names;
  }();
  return kNames;
}

template <>
Names EnumNames<ApiLayer>() {
  return kApiLayers;
}
template <>
Names EnumNames<MemoryKind>() {
  return kMemoryKinds;
}
template <>
Names EnumNames<CopyDirection>() {
  return kCopyDirections;
}
template <>
Names EnumNames<SyncType>() {
  return kSyncTypes;
}
template <>
Names EnumNames<StreamFlag>() {
  return kStreamFlags;
}
template <>
Names EnumNames<RangeKind>() {
  return kRangeKinds;
}
template <>
Names EnumNames<FrameKind>() {
  return kFrameKinds;
}
template <>
Names EnumNames<OverheadKind>() {
  return kOverheadKinds;
}

}  // namespace stallhound::capture
