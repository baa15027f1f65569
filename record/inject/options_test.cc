#include "record/inject/options.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "record/control/environment.h"

namespace stallhound::record {
namespace {

std::map<std::string, std::string> g_environment;

RecorderOptions Read(const std::map<std::string, std::string>& environment) {
  g_environment = environment;
  return ReadOptions([](const char* name) -> const char* {
    const auto found = g_environment.find(name);
    return found == g_environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(OptionsTest, Defaults) {
  const RecorderOptions options = Read({});
  EXPECT_FALSE(options.is_disabled);
  EXPECT_STREQ(options.spool_directory, "./.stallhound/spool");
  EXPECT_EQ(options.mode, capture::spool::Mode::kDefault);
  EXPECT_EQ(options.max_spool_bytes, uint64_t{4} << 30);
  EXPECT_EQ(options.last_ns, 0);
  EXPECT_EQ(options.cupti_path, nullptr);
  EXPECT_EQ(options.window.range, nullptr);
  EXPECT_FALSE(options.window.needs_start);
  EXPECT_EQ(options.bad_value_count, 0);
}

TEST(OptionsTest, EverythingSet) {
  const RecorderOptions options = Read({{kSpoolDirectory, "/s"},
                                        {kMode, "light"},
                                        {kMaxSpoolBytes, "1000000"},
                                        {kLastNs, "5000000000"},
                                        {kDelayNs, "7"},
                                        {kDurationNs, "8"},
                                        {kWindowRange, "step"},
                                        {kWindowSteps, "10-20"},
                                        {kWindowApi, "1"},
                                        {kYield, "1"},
                                        {kCuptiPath, "/c"},
                                        {kOperators, "1"},
                                        {kRecordArgv, "1"},
                                        {kDisable, "1"}});
  EXPECT_TRUE(options.is_disabled);
  EXPECT_STREQ(options.spool_directory, "/s");
  EXPECT_EQ(options.mode, capture::spool::Mode::kLight);
  EXPECT_EQ(options.max_spool_bytes, 1000000u);
  EXPECT_EQ(options.last_ns, 5000000000);
  EXPECT_EQ(options.window.delay_ns, 7);
  EXPECT_EQ(options.window.duration_ns, 8);
  EXPECT_STREQ(options.window.range, "step");
  EXPECT_EQ(options.window.first_step, 10u);
  EXPECT_EQ(options.window.last_step, 20u);
  EXPECT_TRUE(options.window.needs_start);
  EXPECT_TRUE(options.yields_to_profiler);
  EXPECT_STREQ(options.cupti_path, "/c");
  EXPECT_TRUE(options.has_operators);
  EXPECT_TRUE(options.records_argv);
  EXPECT_EQ(options.bad_value_count, 0);
}

TEST(OptionsTest, BadValuesAreIgnoredAndCounted) {
  const RecorderOptions options = Read({{kMode, "fast"},
                                        {kMaxSpoolBytes, "4G"},
                                        {kLastNs, "-1"},
                                        {kDelayNs, "99999999999999999999"},
                                        {kYield, "yes"},
                                        {kWindowSteps, "1-2"}});
  EXPECT_EQ(options.mode, capture::spool::Mode::kDefault);
  EXPECT_EQ(options.max_spool_bytes, uint64_t{4} << 30);
  EXPECT_EQ(options.last_ns, 0);
  EXPECT_FALSE(options.yields_to_profiler);
  EXPECT_EQ(options.window.first_step, 0u) << "steps of no range";
  EXPECT_EQ(options.bad_value_count, 6);
}

TEST(OptionsTest, EmptyIsAbsent) {
  const RecorderOptions options = Read({{kMode, ""}, {kSpoolDirectory, ""}, {"STALLHOUND_HOME", "/home"}});
  EXPECT_STREQ(options.spool_directory, "/home/spool");
  EXPECT_EQ(options.bad_value_count, 0);
}

}  // namespace
}  // namespace stallhound::record
