#pragma once

// What the program was built with, as the compiler says it: times of another build compare only with a note.

#include <string>

namespace stallhound::bench {

// "gcc 12.2.0, nvcc 13.0.88"; without CUDA code the first alone.
std::string CompilerText();

// Of the C++ code: "optimized, assertions"; also "address-sanitizer".
std::string BuildFlagsText();

}  // namespace stallhound::bench
