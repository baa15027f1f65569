#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "reports/sarif/hunt_sarif.h"
#include "reports/testing/reports.h"

namespace stallhound::reports {
namespace {

using nlohmann::json;

json RunOf(const analysis::HuntReport& report) {
  const json sarif = json::parse(HuntSarif(report));
  EXPECT_EQ(sarif["version"], "2.1.0");
  EXPECT_EQ(sarif["runs"].size(), 1u);
  return sarif["runs"][0];
}

// A report whose only site is in this file.
json LocationOf(const std::string& file, std::optional<int64_t> line = 3) {
  analysis::HuntReport report = LightHunt();
  report.sites.resize(1);
  report.sites[0].innermost_user->file = file;
  report.sites[0].innermost_user->line = line;
  return RunOf(report)["results"][0]["locations"][0]["physicalLocation"];
}

TEST(SarifTest, SitesOverTheBudgetAreErrorsAndOthersNotes) {
  const json results = RunOf(OrdinaryHunt())["results"];
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["level"], "error");
  EXPECT_EQ(results[0]["ruleId"], "wait");
  EXPECT_NE(std::string(results[0]["message"]["text"]).find("max-waits in range step at most 1, 2 found"),
            std::string::npos);
  const json& place = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "training/loop.py");
  EXPECT_EQ(place["artifactLocation"]["uriBaseId"], "SRCROOT");
  EXPECT_EQ(place["region"]["startLine"], 87);
}

// Code scanning refuses the whole file for one such result.
TEST(SarifTest, ASiteWithoutALineIsANotification) {
  const json notification = RunOf(OrdinaryHunt())["invocations"][0]["toolExecutionNotifications"][0];
  EXPECT_EQ(notification["level"], "note");
  EXPECT_EQ(notification["associatedRule"]["id"], "allocator");
  EXPECT_EQ(notification["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
            "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc");
  for (const analysis::HuntReport& report : {OrdinaryHunt(), EmptyHunt(), LightHunt(), HostileHunt()}) {
    const json run = RunOf(report);
    for (const json& result : run["results"]) {
      EXPECT_GT(result["locations"][0]["physicalLocation"]["region"]["startLine"], 0) << result;
      EXPECT_FALSE(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].empty()) << result;
    }
  }
}

TEST(SarifTest, ABackwardIsAtTheLineOfItsOperator) {
  const json result = RunOf(OrdinaryHunt())["results"][1];
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "training/loss.py");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 41);
  EXPECT_NE(std::string(result["message"]["text"]).find("in its backward, IndexBackward0"), std::string::npos);
}

TEST(SarifTest, EveryResultHasARuleWhateverTheNames) {
  for (const analysis::HuntReport& report : {OrdinaryHunt(), EmptyHunt(), LightHunt(), HostileHunt()}) {
    const json run = RunOf(report);
    std::set<std::string> rules;
    for (const json& rule : run["tool"]["driver"]["rules"]) rules.insert(rule["id"]);
    EXPECT_EQ(rules.size(), run["tool"]["driver"]["rules"].size());
    for (const json& result : run["results"]) EXPECT_TRUE(rules.contains(result["ruleId"])) << result;
  }
}

TEST(SarifTest, AnExcessWithoutASiteIsANotification) {
  analysis::HuntReport report = OrdinaryHunt();
  report.budget->findings[0].sites.clear();
  const json run = RunOf(report);
  const json& notification = run["invocations"][0]["toolExecutionNotifications"][0];
  EXPECT_EQ(notification["associatedRule"]["id"], "budget");
  EXPECT_EQ(notification["level"], "error");
  for (const json& result : run["results"]) EXPECT_EQ(result["level"], "note");
}

TEST(SarifTest, WhatCouldNotBeJudgedIsANotification) {
  const json notifications = RunOf(OrdinaryHunt())["invocations"][0]["toolExecutionNotifications"];
  ASSERT_EQ(notifications.size(), 3u);
  EXPECT_NE(std::string(notifications[1]["message"]["text"]).find("max-recoverable-ratio"), std::string::npos);
  EXPECT_NE(std::string(notifications[2]["message"]["text"]).find("expired on 2026-01-31"), std::string::npos);
}

TEST(SarifTest, OnlyRelativeFilesHaveABase) {
  EXPECT_EQ(LocationOf("/opt/a b.py")["artifactLocation"], json({{"uri", "file:///opt/a%20b.py"}}));
  EXPECT_EQ(LocationOf("~/x.py")["artifactLocation"], json({{"uri", "~/x.py"}}));
  EXPECT_EQ(LocationOf("c:x?#%.py")["artifactLocation"],
            json({{"uri", "c%3Ax%3F%23%25.py"}, {"uriBaseId", "SRCROOT"}}));
  EXPECT_TRUE(LocationOf("x.py", std::nullopt).is_null());
  EXPECT_TRUE(LocationOf("x.py", 0).is_null());
}

TEST(SarifTest, BracketsInMessagesAreNoLinks) {
  analysis::HuntReport report = LightHunt();
  report.sites[0].apis = {"[text](http://evil.example) {0}"};
  EXPECT_NE(std::string(RunOf(report)["results"][0]["message"]["text"]).find(R"(\[text\](http://evil.example) {{0}})"),
            std::string::npos);
}

}  // namespace
}  // namespace stallhound::reports
