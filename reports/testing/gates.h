#pragma once

// Gates built in code. They say the same on every machine.

#include "reports/gate/gate_report.h"

namespace stallhound::reports {

// Each answer, of counts and of times, with what changed.
GateReport OrdinaryGate();

// Every text that comes from a history is hostile.
GateReport HostileGate();

// Nothing but passes.
GateReport PassedGate();

}  // namespace stallhound::reports
