#include "base/testing/temp_dir.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/file.h"

namespace stallhound::testing {

TempDir::TempDir() : path_((std::filesystem::path(::testing::TempDir()) / "stallhound-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) {
    ADD_FAILURE() << "no temporary folder like " << path_;
    abort();
  }
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::File(std::string_view name) const { return path_ + "/" + std::string(name); }

std::string TempDir::Write(std::string_view name, std::string_view content, unsigned mode) const {
  const std::string path = File(name);
  EXPECT_TRUE(MakeFolders(std::filesystem::path(path).parent_path()).ok());
  const absl::Status status = WriteFileAtomically(path, content);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
  return path;
}

}  // namespace stallhound::testing
