#include "record/stacks/module_recorder.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "record/testing/spool_records.h"

namespace stallhound::record {
namespace {

using capture::spool::ModuleRecord;
using capture::spool::RecordType;
using capture::spool::SpoolWriter;

std::vector<std::string> Paths(const SpoolWriter& writer, bool* found_this_code = nullptr) {
  const SpoolRecords spool(writer.path());
  std::vector<std::string> paths;
  const auto here = reinterpret_cast<uint64_t>(&Paths);
  for (const auto* module : spool.Of<ModuleRecord>(RecordType::kModule)) {
    EXPECT_LT(module->begin, module->end);
    EXPECT_LE(module->load_bias, module->begin);
    paths.push_back(spool.Text(module->path));
    if (found_this_code != nullptr && here >= module->begin && here < module->end) {
      *found_this_code = paths.back().find("module_recorder_test") != std::string::npos;
    }
  }
  return paths;
}

TEST(ModuleRecorderTest, WritesEveryModuleOnceAndNewOnesLater) {
  SpoolWriter writer;
  const std::string directory = std::string(getenv("TEST_TMPDIR")) + "/modules";
  ASSERT_TRUE(writer.Configure({.directory = directory.c_str()}));
  ModuleRecorder recorder(writer);
  recorder.Refresh();
  bool found_this_code = false;
  const size_t count = Paths(writer, &found_this_code).size();
  EXPECT_GT(count, 2u);
  EXPECT_TRUE(found_this_code);
  recorder.Refresh();
  EXPECT_EQ(Paths(writer).size(), count);

  const std::string library =
      std::string(getenv("TEST_SRCDIR")) + "/" + getenv("TEST_WORKSPACE") + "/record/stacks/testdata/frames_library.so";
  ASSERT_NE(dlopen(library.c_str(), RTLD_NOW), nullptr) << dlerror();
  recorder.Refresh();
  const auto paths = Paths(writer);
  ASSERT_EQ(paths.size(), count + 1);
  EXPECT_NE(paths.back().find("frames_library.so"), std::string::npos);

  const pid_t child = fork();
  if (child == 0) {
    writer.ForgetAfterFork();
    recorder.Refresh();
    _exit(Paths(writer).size() == count + 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "a child's spool names all modules again";
}

}  // namespace
}  // namespace stallhound::record
