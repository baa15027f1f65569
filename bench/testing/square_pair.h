#pragma once

#include <functional>

#include "kernels/pair.h"

namespace at {
class Tensor;
}

namespace stallhound::bench {

// y = 2 x^2 on shapes of {rows, width}, small enough for a test; `optimized` is given.
kernels::Pair SquarePair(const char* name, std::function<at::Tensor(const at::Tensor& x)> optimized);

}  // namespace stallhound::bench
