#pragma once

// Offsets of CUPTI's activity records by version. Source: the CUPTI headers of each version, read by
// ci/cupti_layouts.py, which writes layout_tables.cc.

#include <cstdint>

#include "capture/spool/activity_layout.h"

namespace stallhound::record {

// One table per version of CUPTI whose records differ or that was checked: 12.4, 12.6, 12.8, 12.9, 13.0; ascending.
extern const capture::spool::ActivityLayout kLayouts[];
extern const int kLayoutCount;

// The table for cuptiGetVersion's `version`: its own, else that of the nearest older version, because a version between
// two tables, or after the last, has so far kept the offsets; the first buffer is checked all the same. Null: older
// than every table.
const capture::spool::ActivityLayout* LayoutFor(uint32_t version) noexcept;

// Whether LayoutFor(version) was made from that version's headers.
bool HasOwnLayout(uint32_t version) noexcept;

}  // namespace stallhound::record
