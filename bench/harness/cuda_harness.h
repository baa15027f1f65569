#pragma once

// Measuring on a CUDA device, after NVBench's protocol for cold measurements: before each sample a kernel occupies the
// device while the host enqueues, the L2 cache is overwritten, and events take the time. Times are therefore the
// device's; what the host needs to launch is Sample::host_ns. All of it runs on one stream of LibTorch's pool, which
// is the current stream as long as the harness lives.

#include <absl/status/statusor.h>

#include <memory>

#include "bench/harness/harness.h"

namespace stallhound::bench {

// Device 0 of LibTorch. Link it only where kernels::kHasCudaCode holds. Errors: FailedPrecondition without a device.
absl::StatusOr<std::unique_ptr<Harness>> MakeCudaHarness();

}  // namespace stallhound::bench
