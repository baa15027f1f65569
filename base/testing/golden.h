#pragma once

// Comparison with an expected file in the source tree. `STALLHOUND_UPDATE_GOLDEN=1 bazel run //folder:its_test` writes
// what the test got into the tree, for review in the diff.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace stallhound::testing {

// EXPECT_TRUE(MatchesGolden(text, "reports/text/testdata/one_site/expected.md")): the path is relative to the
// workspace; the file must be among the test's `data`. A failure names the first line that differs.
::testing::AssertionResult MatchesGolden(std::string_view actual, const std::string& path);

// Path of a file of the test's `data`, from its path relative to the workspace.
std::string DataPath(const std::string& path);

}  // namespace stallhound::testing
