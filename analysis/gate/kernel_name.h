#pragma once

#include <string>
#include <string_view>

namespace stallhound::analysis::gate {

// A kernel's name without what changes from build to build though the code does not: demangled; translation-unit hashes
// of internal linkage (`_INTERNAL_0a1b2c3d_4_x_cu::`, `_GLOBAL__N__0a1b2c3d...::`) as "(anonymous namespace)"; lambdas
// without their number; no clone suffix; ">>" for "> >"; Triton's kernels without the place in the generated file
// ("triton_poi_fused_add_3" as "triton_poi_fused_add"). Template arguments and parameters stay: another instantiation
// is another kernel. What cannot be demangled is taken as it is. O(length).
std::string NormalizeKernelName(std::string_view name);

}  // namespace stallhound::analysis::gate
