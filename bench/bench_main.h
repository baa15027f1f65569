#pragma once

#include <span>

#include "kernels/pair.h"

namespace stallhound::bench {

// The bench as a program: flags, devices, context, run. Returns the exit code of bench/README.md. Once per process.
int BenchMain(int argc, char** argv, std::span<const kernels::Pair> pairs);

}  // namespace stallhound::bench
