#pragma once

// Reports built in code. They say the same on every machine.

#include <string>
#include <string_view>
#include <vector>

#include "analysis/counts/counts.h"
#include "analysis/hunt/report.h"

namespace stallhound::reports {

// Two sites in ten steps of a training loop, ranges, two processes, a device, a loss.
analysis::HuntReport OrdinaryHunt();

// A recording without sync points, of another tool.
analysis::HuntReport EmptyHunt();

// Light mode: the GPU side was not recorded.
analysis::HuntReport LightHunt();

// Every text that comes from a recording is hostile.
analysis::HuntReport HostileHunt();

analysis::CountsReport OrdinaryCounts();

// Text that a display would obey, hide or misread, or a format read as its own.
std::vector<std::string> HostileTexts();

// "void at::native::kernel<...>(...)" of about 40 kB.
std::string LongKernelName();

}  // namespace stallhound::reports
