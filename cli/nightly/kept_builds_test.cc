#include "cli/nightly/kept_builds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace stallhound::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KeptBuildsTest : public ::testing::Test {
 protected:
  absl::StatusOr<KeptBuild> KeepRun(const std::string& run_uuid) {
    absl::StatusOr<KeptBuild> build = KeepBuild(home_, binary_);
    const absl::Status added = build.ok() ? AddRun(*build, run_uuid) : build.status();
    if (build.ok()) build->in_use.reset();
    return added.ok() ? build : added;
  }

  stallhound::testing::TempDir folder_;
  const std::string home_ = folder_.File("home");
  const std::string binary_ = folder_.Write("bench", "abc", 0755);
};

TEST_F(KeptBuildsTest, KeepsAProgramOnceWithAllItsRuns) {
  const absl::StatusOr<KeptBuild> first = KeepRun("run-1");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->folder, home_ + "/builds/ba7816bf8f01cfea");
  EXPECT_EQ(*ReadFile(first->binary), "abc");
  EXPECT_EQ(access(first->binary.c_str(), X_OK), 0);
  EXPECT_EQ(ListBuilds(home_)[0].bytes, 3u + 6u);
  ASSERT_TRUE(KeepRun("run-2").ok());
  ASSERT_TRUE(KeepRun("run-2").ok());
  EXPECT_THAT(ListBuilds(home_)[0].run_uuids, ElementsAre("run-1", "run-2"));
  folder_.Write("bench", "another", 0755);
  ASSERT_TRUE(KeepRun("run-3").ok());
  EXPECT_EQ(ListBuilds(home_).size(), 2u);
  EXPECT_EQ((*FindBuildOfRun(home_, "run-2"))->folder, first->folder);
  EXPECT_EQ(*ReadFile((*FindBuildOfRun(home_, "run-3"))->binary), "another");
  EXPECT_FALSE(FindBuildOfRun(home_, "run-4")->has_value());
  EXPECT_TRUE(AreOfOneBuild(home_, "run-1", "run-2"));
  EXPECT_FALSE(AreOfOneBuild(home_, "run-1", "run-3"));
  EXPECT_FALSE(AreOfOneBuild(home_, "run-4", "run-4"));
}

TEST_F(KeptBuildsTest, RunsThatOverlapAreAllKept) {
  const absl::StatusOr<KeptBuild> first = KeepBuild(home_, binary_);
  const absl::StatusOr<KeptBuild> second = KeepBuild(home_, binary_);
  ASSERT_TRUE(AddRun(*second, "run-2").ok());
  ASSERT_TRUE(AddRun(*first, "run-1").ok());
  EXPECT_THAT(ListBuilds(home_)[0].run_uuids, ElementsAre("run-2", "run-1"));
  EXPECT_TRUE(AreOfOneBuild(home_, "run-1", "run-2"));
}

TEST_F(KeptBuildsTest, AProgramThatWasChangedIsNotTheOneThatWasKept) {
  const absl::StatusOr<KeptBuild> build = KeepRun("run-1");
  folder_.Write("home/builds/ba7816bf8f01cfea/bench", "abd");
  const absl::Status status = FindBuildOfRun(home_, "run-1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(build->binary));
  EXPECT_EQ(KeepBuild(home_, binary_).status(), status) << "its times would pass for the program's";
  ASSERT_TRUE(RemoveBuild(*build).ok());
  EXPECT_TRUE(KeepBuild(home_, binary_).ok());
}

TEST_F(KeptBuildsTest, LeavesWhatIsNotItsOwn) {
  EXPECT_TRUE(ListBuilds(home_).empty());
  folder_.Write("home/builds/notes/bench", "");
  folder_.Write("home/builds/notes/runs", "run-1\n");
  folder_.Write("home/builds/0123456789abcdef/bench", "no list of runs");
  fs::create_directory_symlink("notes", home_ + "/builds/fedcba9876543210");
  EXPECT_TRUE(ListBuilds(home_).empty());
}

TEST_F(KeptBuildsTest, RemovesItsFilesOnly) {
  const absl::StatusOr<KeptBuild> build = KeepRun("run-1");
  EXPECT_TRUE(RemoveBuild(*build).ok());
  EXPECT_FALSE(fs::exists(build->folder));
  EXPECT_TRUE(RemoveBuild(*build).ok()) << "somebody else removed it";
  ASSERT_TRUE(KeepRun("run-1").ok());
  const std::string notes = folder_.Write("home/builds/ba7816bf8f01cfea/notes", "x");
  EXPECT_FALSE(RemoveBuild(*build).ok());
  EXPECT_TRUE(fs::exists(notes));
}

TEST_F(KeptBuildsTest, WhatIsBeingMeasuredStays) {
  absl::StatusOr<KeptBuild> first = KeepBuild(home_, binary_);
  absl::StatusOr<KeptBuild> second = KeepBuild(home_, binary_);
  const KeptBuild listed = ListBuilds(home_)[0];
  first->in_use.reset();
  EXPECT_TRUE(IsInUse(listed));
  EXPECT_EQ(*RemoveBuild(listed), false);
  EXPECT_EQ(*ReadFile(listed.binary), "abc");
  second->in_use.reset();
  EXPECT_FALSE(IsInUse(listed));
  EXPECT_EQ(*RemoveBuild(listed), true);
  EXPECT_FALSE(fs::exists(listed.folder));
}

TEST_F(KeptBuildsTest, AProgramThatIsNotThereIsAnError) {
  EXPECT_EQ(KeepBuild(home_, folder_.File("none")).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace stallhound::cli
