#include <gtest/gtest.h>

#include "base/testing/golden.h"
#include "reports/gate/gate_output.h"
#include "reports/html/hunt_html.h"
#include "reports/junit/hunt_junit.h"
#include "reports/run/run_output.h"
#include "reports/sarif/hunt_sarif.h"
#include "reports/testing/gates.h"
#include "reports/testing/reports.h"
#include "reports/testing/runs.h"
#include "reports/text/counts_text.h"
#include "reports/text/hunt_text.h"

namespace stallhound::reports {
namespace {

using ::stallhound::testing::MatchesGolden;

struct Case {
  std::string name;
  analysis::HuntReport report;
  RunOutcome outcome;
};

std::vector<Case> Cases() {
  return {
      {"ordinary", OrdinaryHunt(), {0, std::nullopt, 5}},
      {"empty", EmptyHunt(), {}},
      {"light", LightHunt(), {std::nullopt, 9, std::nullopt}},
      {"hostile", HostileHunt(), {}},
  };
}

TEST(GoldenTest, Hunts) {
  for (const Case& test : Cases()) {
    const std::string folder = "reports/testdata/" + test.name;
    for (const int width : {40, 80, 120}) {
      EXPECT_TRUE(MatchesGolden(HuntTerminal(test.report, {false, width}),
                                folder + "/expected_" + std::to_string(width) + ".txt"));
    }
    EXPECT_TRUE(MatchesGolden(HuntMarkdown(test.report), folder + "/expected.md"));
    EXPECT_TRUE(MatchesGolden(HuntJson(test.report, test.outcome), folder + "/expected.json"));
    EXPECT_TRUE(MatchesGolden(HuntHtml(test.report), folder + "/expected.html"));
    EXPECT_TRUE(MatchesGolden(HuntSarif(test.report), folder + "/expected.sarif"));
    EXPECT_TRUE(MatchesGolden(HuntJunit(test.report), folder + "/expected.xml"));
  }
}

TEST(GoldenTest, Counts) {
  const std::string folder = "reports/testdata/counts";
  EXPECT_TRUE(MatchesGolden(CountsTerminal(OrdinaryCounts(), {false, 80}), folder + "/expected_80.txt"));
  EXPECT_TRUE(MatchesGolden(CountsMarkdown(OrdinaryCounts()), folder + "/expected.md"));
  EXPECT_TRUE(MatchesGolden(CountsJson(OrdinaryCounts()), folder + "/expected.json"));
}

TEST(GoldenTest, Gates) {
  for (const auto& [name, report] : std::vector<std::pair<std::string, GateReport>>{
           {"gate", OrdinaryGate()}, {"gate_hostile", HostileGate()}, {"gate_passed", PassedGate()}}) {
    const std::string folder = "reports/testdata/" + name;
    for (const int width : {40, 80, 120}) {
      EXPECT_TRUE(
          MatchesGolden(GateTerminal(report, {false, width}), folder + "/expected_" + std::to_string(width) + ".txt"));
    }
    EXPECT_TRUE(MatchesGolden(GateMarkdown(report), folder + "/expected.md"));
    EXPECT_TRUE(MatchesGolden(GateJson(report), folder + "/expected.json"));
    EXPECT_TRUE(MatchesGolden(GateJunit(report), folder + "/expected.xml"));
  }
}

TEST(GoldenTest, Runs) {
  for (const auto& [name, report] :
       std::vector<std::pair<std::string, RunReport>>{{"run", OrdinaryRun()}, {"run_hostile", HostileRun()}}) {
    const std::string folder = "reports/testdata/" + name;
    for (const int width : {40, 80, 120}) {
      EXPECT_TRUE(
          MatchesGolden(RunTerminal(report, {false, width}), folder + "/expected_" + std::to_string(width) + ".txt"));
    }
    EXPECT_TRUE(MatchesGolden(RunMarkdown(report), folder + "/expected.md"));
    EXPECT_TRUE(MatchesGolden(RunHtml(report), folder + "/expected.html"));
    EXPECT_TRUE(MatchesGolden(RunJson(report), folder + "/expected.json"));
  }
  EXPECT_TRUE(MatchesGolden(RunsTerminal(OrdinaryRuns(), {false, 120}), "reports/testdata/runs/expected_120.txt"));
  EXPECT_TRUE(MatchesGolden(RunsJson(OrdinaryRuns()), "reports/testdata/runs/expected.json"));
}

}  // namespace
}  // namespace stallhound::reports
