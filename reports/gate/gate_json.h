#pragma once

// Pieces of JSON that reports of runs and of gates share.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/gate/count_range.h"
#include "base/json_writer.h"
#include "reports/gate/gate_report.h"

namespace stallhound::reports {

// "key": {"min": 0, "max": 1}; null where there is none.
void RangeField(JsonWriter& json, std::string_view key, const std::optional<analysis::gate::CountRange>& range);
void WriteGateRun(JsonWriter& json, const GateRun& run);
// "key": [a verdict, ...].
void WriteVerdicts(JsonWriter& json, std::string_view key, const std::vector<GateVerdict>& verdicts);

}  // namespace stallhound::reports
