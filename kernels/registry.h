#pragma once

#include <string_view>
#include <vector>

#include "kernels/pair.h"

namespace stallhound::kernels {

// All layers, in the order of BUILD. Made at the first call; thread-safe.
const std::vector<Pair>& AllPairs();

// nullptr if no layer has this name.
const Pair* FindPair(std::string_view name);

}  // namespace stallhound::kernels
