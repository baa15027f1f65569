#pragma once

// Pieces of JSON that reports of runs and of gates share.

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "reports/gate/gate_report.h"

namespace stallhound::reports {

void WriteGateRun(JsonWriter& json, const GateRun& run);
// "key": [a verdict, ...].
void WriteVerdicts(JsonWriter& json, std::string_view key, const std::vector<GateVerdict>& verdicts);

}  // namespace stallhound::reports
