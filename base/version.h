#pragma once

// The one place that says which release this is.

namespace stallhound {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace stallhound
