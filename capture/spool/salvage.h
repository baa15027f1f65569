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
};

// Decodes the raw activity records in `raw`. Work that had not ended is left out. Shapes are added to `dictionary`;
// names that the recorder had not written down are "(unknown kernel)" to a reader: name 0.
SalvagedRecords SalvageActivity(const ActivityLayout& layout, std::span<const uint8_t> raw, Dictionary& dictionary);

}  // namespace stallhound::capture::spool
