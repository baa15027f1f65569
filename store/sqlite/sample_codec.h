#pragma once

// Samples as a blob ("delta-varint"): their count, then for each the zigzag difference of round and of value to the
// sample before, and of the SM clock to the last known one plus one (0: unknown); all as LEB128 numbers. Steady samples
// take less than 8 bytes each.

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "store/run.h"

namespace stallhound::store {

// SM clocks are not negative.
std::string EncodeSamples(const std::vector<Sample>& samples);

// Errors: DataLoss for bytes that EncodeSamples does not write.
absl::StatusOr<std::vector<Sample>> DecodeSamples(std::string_view bytes);

}  // namespace stallhound::store
