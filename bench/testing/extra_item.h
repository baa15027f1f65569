#pragma once

#include "bench/testing/changed_case.h"

namespace stallhound::bench {

// Reads one element of the result back to the host, as a forgotten check of values does: on CUDA the host waits.
Forward WithExtraItem(Forward forward);

}  // namespace stallhound::bench
