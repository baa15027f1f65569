#include "base/testing/golden.h"

#include <absl/strings/str_split.h>
#include <stdlib.h>

#include <filesystem>
#include <vector>

#include "base/file.h"

namespace stallhound::testing {
namespace {

::testing::AssertionResult Update(std::string_view actual, const std::string& path) {
  const char* workspace = getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    return ::testing::AssertionFailure() << "STALLHOUND_UPDATE_GOLDEN works with `bazel run` of the test only";
  }
  const std::filesystem::path target = std::filesystem::path(workspace) / path;
  absl::Status status = MakeFolders(target.parent_path());
  if (status.ok()) status = WriteFileAtomically(target, actual);
  if (!status.ok()) return ::testing::AssertionFailure() << status;
  return ::testing::AssertionSuccess();
}

}  // namespace

std::string DataPath(const std::string& path) {
  const char* root = getenv("TEST_SRCDIR");
  const char* workspace = getenv("TEST_WORKSPACE");
  // `bazel run` starts in the runfiles and sets neither.
  if (root == nullptr || workspace == nullptr) return path;
  return std::string(root) + "/" + workspace + "/" + path;
}

::testing::AssertionResult MatchesGolden(std::string_view actual, const std::string& path) {
  const char* update = getenv("STALLHOUND_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") return Update(actual, path);
  const absl::StatusOr<std::string> expected = ReadFile(DataPath(path));
  if (!expected.ok()) return ::testing::AssertionFailure() << expected.status();
  if (*expected == actual) return ::testing::AssertionSuccess();
  const std::vector<std::string> want = absl::StrSplit(*expected, '\n');
  const std::vector<std::string> got = absl::StrSplit(absl::string_view(actual.data(), actual.size()), '\n');
  size_t line = 0;
  while (line < want.size() && line < got.size() && want[line] == got[line]) ++line;
  return ::testing::AssertionFailure() << path << " differs from line " << line + 1
                                       << " on\n  expected: " << (line < want.size() ? want[line] : "(end of file)")
                                       << "\n  actual:   " << (line < got.size() ? got[line] : "(end of text)")
                                       << "\nwhole text:\n"
                                       << actual;
}

}  // namespace stallhound::testing
