// Recordings made on a GPU (examples/recorded) give the reports beside them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/testing/golden.h"
#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "cli/testing/run_stallhound.h"

namespace stallhound::cli {
namespace {

using stallhound::testing::DataPath;
using stallhound::testing::MatchesGolden;
using stallhound::testing::RunSubprocess;
using stallhound::testing::SubprocessResult;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct Recording {
  const char* name;
  const char* file;  // or a folder with a spool of each process
  bool has_range;    // `measured`, around the steady steps
};

std::string NameOf(const ::testing::TestParamInfo<Recording>& info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
}

class RecordedTest : public ::testing::TestWithParam<Recording> {
 protected:
  // The recording, unpacked if we do not read it as it is.
  std::string Unpack() {
    const std::string packed = DataPath(std::string("examples/recorded/") + GetParam().file);
    if (std::filesystem::is_directory(packed)) {
      const std::string folder = folder_.File("spools");
      std::filesystem::create_directory(folder);
      for (const auto& entry : std::filesystem::directory_iterator(packed)) {
        EXPECT_TRUE(stallhound::testing::Unpack(entry.path(), folder + "/" + entry.path().stem().string()))
            << entry.path();
      }
      return folder;
    }
    if (!packed.ends_with(".zst")) return packed;
    const std::string path = folder_.File("recording.spool");
    EXPECT_TRUE(stallhound::testing::Unpack(packed, path)) << packed;
    return path;
  }

  void ExpectGolden(std::vector<std::string> arguments, const std::string& what) {
    if (GetParam().has_range) arguments.insert(arguments.begin() + 1, {"--range", "measured"});
    const SubprocessResult result = RunSubprocess(StallhoundOptions(folder_.File("home"), arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(MatchesGolden(result.out, std::string("examples/recorded/") + GetParam().name + "." + what + ".txt"));
  }

  stallhound::testing::TempDir folder_;
};

TEST_P(RecordedTest, HasItsReports) {
  const std::string path = Unpack();
  ExpectGolden({"hunt", "--from", path}, "hunt");
  ExpectGolden({"counts", path}, "counts");
}

TEST_P(RecordedTest, AnUnknownCountIsInconclusiveIfStrict) {
  std::vector<std::string> arguments = {"hunt", "--strict", "--from", Unpack()};
  if (GetParam().has_range) arguments.insert(arguments.end(), {"--range", "measured"});
  const SubprocessResult result = RunSubprocess(StallhoundOptions(folder_.File("home"), arguments));
  const bool has_calls = !std::string_view(GetParam().name).starts_with("nvtx-");
  EXPECT_EQ(result.exit_code, has_calls ? 0 : 5) << result.err;
}

INSTANTIATE_TEST_SUITE_P(OnH200, RecordedTest,
                         ::testing::Values(Recording{"cuda-driver", "cuda-driver.spool.zst", true},
                                           Recording{"cuda-driver-light", "cuda-driver-light.spool.zst", true},
                                           Recording{"cuda-runtime", "cuda-runtime.spool.zst", true},
                                           Recording{"cuda-runtime-light", "cuda-runtime-light.spool.zst", true},
                                           Recording{"cupy", "cupy.spool.zst", false},
                                           Recording{"detection", "detection.spool.zst", true},
                                           Recording{"graph-model", "graph-model.spool.zst", true},
                                           Recording{"jax", "jax.spool.zst", false},
                                           Recording{"libtorch", "libtorch.spool.zst", true},
                                           Recording{"nvtx-operators", "nvtx-operators.spool.zst", true},
                                           Recording{"nvtx-threads", "nvtx-threads.spool.zst", false},
                                           Recording{"pytorch", "pytorch.spool.zst", true},
                                           Recording{"pytorch-light", "pytorch-light.spool.zst", true},
                                           Recording{"pytorch-kineto", "pytorch.kineto.json.gz", false},
                                           Recording{"two-ranks", "two-ranks", true}),
                         NameOf);

// Of these the first 100,000 bytes hold no event that has a time.
class CutSpoolTest : public RecordedTest {};

TEST_P(CutSpoolTest, WhatWasLostIsUnknownAndNot0) {
  const std::string path = Unpack();
  std::filesystem::resize_file(path, 100'000);
  const SubprocessResult result = RunSubprocess(StallhoundOptions(folder_.File("home"), {"counts", path}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("without an event that has a time"));
  EXPECT_THAT(result.out, HasSubstr("Data was lost: the counts are incomplete"));
  EXPECT_THAT(result.out, ContainsRegex("\nkernels +not recorded"));

  const auto hunt = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"hunt", "--from", path});
    return RunSubprocess(StallhoundOptions(folder_.File("home"), arguments));
  };
  EXPECT_THAT(hunt({}).out, HasSubstr("Sync points: not recorded"));
  const nlohmann::json report = nlohmann::json::parse(hunt({"--format", "json"}).out);
  EXPECT_TRUE(report["sync_point_count"].is_null());
  EXPECT_TRUE(report["totals"].empty());
  EXPECT_TRUE(report["device_idle"].is_null());
  EXPECT_FALSE(report["costs_complete"]);
  EXPECT_EQ(hunt({"--max-waits", "1000", "--strict"}).exit_code, 5);
  EXPECT_EQ(hunt({"--max-recoverable-ratio", "1", "--strict"}).exit_code, 5);
}

INSTANTIATE_TEST_SUITE_P(OnH200, CutSpoolTest,
                         ::testing::Values(Recording{"detection", "detection.spool.zst", true},
                                           Recording{"jax", "jax.spool.zst", false}),
                         NameOf);

}  // namespace
}  // namespace stallhound::cli
