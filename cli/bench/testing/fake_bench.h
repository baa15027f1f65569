#pragma once

#include <absl/strings/str_split.h>
#include <stdlib.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/testing/golden.h"
#include "base/testing/temp_dir.h"
#include "capture/spool/generate_spool.h"

namespace stallhound::cli {

// A fake bench of two cases and what it was called with; the test's `data` must have it.
class FakeBench {
 public:
  FakeBench() {
    plan["calls"] = folder_.File("calls");
    plan["times_us"] = {{"layer/a", 1000.0}, {"layer/b", 2000.0}};
  }

  std::string binary() const { return stallhound::testing::DataPath("cli/bench/testing/fake_bench.py"); }
  // Of $FAKE_BENCH.
  std::string Plan() const { return plan.dump(); }
  // From now on a recording pass gives 16 iterations of layer/a, each with 64 kernels and a wait.
  void Record() {
    capture::spool::GeneratedSpool spool;
    spool.kernel_count = 16 * 64;
    spool.kernels_per_wait = spool.kernels_per_step = 64;
    spool.stack_count = 1;
    spool.step_range = "iteration";
    spool.outer_range = "layer/a";
    plan["spool"] = capture::spool::GenerateSpool(folder_.path(), spool);
  }
  // The arguments of each process so far.
  std::vector<std::string> Calls() const {
    std::vector<std::string> calls;
    const std::string text = ReadFile(folder_.File("calls")).value_or("");
    for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      calls.push_back(text.substr(begin, end - begin));
    }
    return calls;
  }
  // The processes that "start" of the plan wrote.
  static std::vector<std::string> Started(const std::string& path) {
    return absl::StrSplit(ReadFile(path).value_or(""), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  }
  // How many of them run when they had two seconds to end.
  static int RunningCount(const std::vector<std::string>& numbers) {
    int count = 0;
    for (int i = 0; i < 100 && (i == 0 || count > 0); ++i) {
      if (i > 0) usleep(20'000);
      count = 0;
      for (const std::string& number : numbers) {
        const std::string stat = ReadFile("/proc/" + number + "/stat").value_or("");
        // Nobody may have taken its end yet.
        if (!stat.empty() && stat.find(") Z ") == std::string::npos) ++count;
      }
    }
    return count;
  }
  // A file that may stand for the recorder: no process loads it.
  std::string Recorder() const { return folder_.Write("librecorder.so", ""); }

  nlohmann::json plan;

 private:
  stallhound::testing::TempDir folder_;
};

}  // namespace stallhound::cli
