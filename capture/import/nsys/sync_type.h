#pragma once

// What a synchronisation record is. Nsight's syncType changes its meaning between versions and contradicts the file's
// own ENUM table, so the call decides, and for records without a call the ids that it does not leave out.

#include <cstdint>
#include <optional>

#include "capture/api/api_class.h"
#include "capture/types.h"

namespace stallhound::capture::nsys {

// nullopt: a call that is no synchronisation. Queries do not wait: kUnknown.
constexpr std::optional<SyncType> SyncTypeOfCall(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kDeviceSync:
      return SyncType::kContextSynchronize;
    case ApiClass::kStreamSync:
      return SyncType::kStreamSynchronize;
    case ApiClass::kEventSync:
      return SyncType::kEventSynchronize;
    case ApiClass::kStreamWaitEvent:
      return SyncType::kStreamWaitEvent;
    case ApiClass::kQuery:
      return SyncType::kUnknown;
    default:
      return std::nullopt;
  }
}

// A record names what it is about and says 4294967295 for the rest. A NULL says nothing: kUnknown. `stream` and `event`
// are the stored values.
constexpr SyncType SyncTypeOfIds(std::optional<int64_t> stream, std::optional<int64_t> event) {
  constexpr int64_t kNotApplicable = 0xffffffff;
  if (!stream || !event) return SyncType::kUnknown;
  if (*event == kNotApplicable) {
    return *stream == kNotApplicable ? SyncType::kContextSynchronize : SyncType::kStreamSynchronize;
  }
  return *stream == kNotApplicable ? SyncType::kEventSynchronize : SyncType::kStreamWaitEvent;
}

}  // namespace stallhound::capture::nsys
