#pragma once

// What two runs must share to be compared: the one list, of which series (here) and the gate (cli/gate) are made.

#include <optional>
#include <string>
#include <vector>

#include "store/run.h"

namespace stallhound::store {

struct ComparableField {
  std::string name;                  // "gpu_name"; of a switch the variable's
  std::optional<std::string> value;  // null: unknown. "none": the GPU's own, where there is known to be none
  bool is_switch = false;            // listed if it was set; one that is not listed is known not to have been
  bool is_of_times_only = false;     // counts do not depend on it
};

// Switches last. Every other field is listed for every run, in the same order, but for "libtorch_build" (of
// "2.11.0+cu130" the "cu130"), which is listed if it is known.
std::vector<ComparableField> ComparableFields(const Hardware& hardware, const Environment& environment);

// The fields that counts depend on as "name=value" lines, a switch as "env.name=value", the unknown as "?": equal keys,
// one series. Unknown equals unknown.
std::string ComparabilityKey(const Hardware& hardware, const Environment& environment);

}  // namespace stallhound::store
