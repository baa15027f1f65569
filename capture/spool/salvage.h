#pragma once

// What a killed process left in activity buffers that CUPTI never delivered, as compact records.

#include <cstdint>
#include <span>
#include <vector>

#include "capture/spool/dictionary.h"

namespace stallhound::capture::spool {

struct SalvagedRecords {
  std::vector<uint8_t> records;  // as in a kRecords chunk
  int64_t count = 0;
  bool has_unknown_layout = false;  // something is there, but the layout is missing or contradicts itself
};

// Decodes the raw activity records in `raw`. Left out: work that had not ended; calls that the recorder's callbacks
// have written already; driver calls inside a runtime call. Shapes, streams and contexts are added to `dictionary`;
// names that the recorder had not written down are "(unknown kernel)" to a reader: name 0. Safe on any bytes and any
// layout.
SalvagedRecords SalvageActivity(const ActivityLayout& layout, std::span<const uint8_t> raw, Dictionary& dictionary);

}  // namespace stallhound::capture::spool
