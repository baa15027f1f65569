#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string_view>

#include "kernels/case_runner.h"

namespace stallhound::testing {

inline bool RequiresGpu() {
  const char* value = getenv("REQUIRE_GPU");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace stallhound::testing

// First line of a test that needs a GPU: without one it is skipped, or fails where REQUIRE_GPU=1 promises one.
#define SH_NEED_CUDA()                                                                     \
  if (!stallhound::kernels::HasCuda()) {                                                   \
    if (stallhound::testing::RequiresGpu()) FAIL() << "REQUIRE_GPU=1, but no CUDA device"; \
    GTEST_SKIP() << "no CUDA device";                                                      \
  }                                                                                        \
  static_assert(true)
