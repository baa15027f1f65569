#include "cli/exit_code.h"

#include <gtest/gtest.h>

namespace stallhound::cli {
namespace {

TEST(ExitCodeTest, EveryKindOfErrorHasItsCode) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(UsageError("x")), 2);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("x")), 3);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("x")), 3);
  EXPECT_EQ(ExitCodeOf(absl::DataLossError("x")), 3);
  EXPECT_EQ(ExitCodeOf(EnvironmentError("x")), 4);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("x")), 4);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("x")), 4);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("x")), 70);
  EXPECT_EQ(ExitCodeOf(absl::UnknownError("x")), 70);
}

}  // namespace
}  // namespace stallhound::cli
