#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <gtest/gtest.h>

#include "base/display_text.h"
#include "reports/testing/reports.h"
#include "reports/text/counts_text.h"
#include "reports/text/hunt_text.h"

namespace stallhound::reports {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  return lines;
}

// The first line that holds `piece`, else empty.
std::string LineWith(const std::string& text, const std::string& piece) {
  for (const std::string& line : Lines(text)) {
    if (line.find(piece) != std::string::npos) return line;
  }
  return "";
}

analysis::HuntReport ReportOfPlaces(const std::vector<std::string>& files) {
  analysis::HuntReport report = OrdinaryHunt();
  report.recorder.reset();  // its sentence has the words of a column
  const analysis::Site site = report.sites[0];
  report.sites.clear();
  for (const std::string& file : files) {
    report.sites.push_back(site);
    report.sites.back().innermost_user->file = file;
    report.sites.back().count = 77'777;
  }
  return report;
}

TEST(TerminalTest, EveryLineFitsAnyWidth) {
  for (const analysis::HuntReport& report : {OrdinaryHunt(), EmptyHunt(), LightHunt(), HostileHunt()}) {
    for (int width = 0; width < 260; width += 3) {
      const size_t limit = static_cast<size_t>(std::max(width, 40));
      for (const std::string& line : Lines(HuntTerminal(report, {false, width}))) {
        EXPECT_LE(DisplayWidth(line), limit) << line;
        EXPECT_EQ(Displayable(line), line);
      }
    }
  }
}

TEST(TerminalTest, ACountThatWasNotRecordedIsNotZero) {
  analysis::HuntReport report = EmptyHunt();
  EXPECT_NE(LineWith(HuntTerminal(report, {}), "0 sync points at 0 sites"), "");
  report.sync_point_count.reset();
  report.counts_complete = false;
  const std::string text = HuntTerminal(report, {});
  EXPECT_NE(LineWith(text, "Sync points: not recorded"), "");
  EXPECT_EQ(LineWith(text, "0 sync points"), "");
  EXPECT_EQ(LineWith(text, "Data was lost"), "");
}

TEST(TerminalTest, AlignsColumnsBehindWideAndMarkedText) {
  const analysis::HuntReport report = ReportOfPlaces({"train.py", "関数の名前.py", "größe.py", "e\u0301te\u0301.py"});
  for (const int width : {60, 80, 120, 200}) {
    const std::string text = HuntTerminal(report, {false, width});
    const std::string header = LineWith(text, "GPU idle");
    const size_t count_end = DisplayWidth(header.substr(0, header.find("count") + 5));
    int row_count = 0;
    for (const std::string& line : Lines(text)) {
      const size_t begin = line.find("77,777");
      if (begin == std::string::npos) continue;
      EXPECT_EQ(DisplayWidth(line.substr(0, begin + 6)), count_end) << text;
      ++row_count;
    }
    EXPECT_EQ(row_count, width < 60 ? 0 : 4);
  }
}

TEST(TerminalTest, KeepsTableOnOneLineWhereItFitsAndTextsBelowWhereNot) {
  analysis::HuntReport report = OrdinaryHunt();
  report.budget.reset();  // names the lines too
  const std::string wide = LineWith(HuntTerminal(report, {false, 400}), "train_step");
  EXPECT_NE(wide.find("3.41 ms"), std::string::npos) << wide;
  const std::string narrow = HuntTerminal(report, {false, 72});
  EXPECT_TRUE(absl::StartsWith(LineWith(narrow, "train_step"), "  where: ")) << narrow;
  EXPECT_NE(LineWith(narrow, "3.41 ms").find("wait"), std::string::npos) << narrow;
  EXPECT_NE(LineWith(HuntTerminal(report, {false, 40}), "GPU idle: 3.41 ms"), "");
}

TEST(TerminalTest, LeavesOutOperatorsAndRangesThatSayNothing) {
  analysis::HuntReport report = ReportOfPlaces({"train.py", "test.py"});
  const auto header = [&] { return LineWith(HuntTerminal(report, {false, 400}), "where"); };
  for (analysis::Site& site : report.sites) {
    site.operator_name = site.range = std::nullopt;
  }
  report.range = "step";
  EXPECT_EQ(header().find("operator"), std::string::npos) << header();
  EXPECT_EQ(header().find("range"), std::string::npos);
  report.sites[0].range = "step";
  report.sites[0].range_count = 1;
  EXPECT_EQ(header().find("range"), std::string::npos) << "the measured range is no news";
  report.sites[0].range_count = 2;
  EXPECT_NE(header().find("range"), std::string::npos) << header();
  report.range = "epoch";
  report.sites[0].range_count = 1;
  EXPECT_NE(header().find("range"), std::string::npos) << header();
  analysis::Site& native = report.sites[1];
  native.innermost_user = std::nullopt;
  native.native_symbol = native.operator_name = "aten::mm";
  native.operator_count = 1;
  EXPECT_EQ(header().find("operator"), std::string::npos) << "the place says it";
  native.operator_count = 2;
  EXPECT_NE(header().find("operator"), std::string::npos) << header();
}

TEST(TerminalTest, ColorsOnlyWhenAsked) {
  EXPECT_EQ(HuntTerminal(HostileHunt(), {false, 120}).find('\x1b'), std::string::npos);
  const std::string colored = HuntTerminal(OrdinaryHunt(), {true, 120});
  EXPECT_TRUE(absl::StartsWith(colored, "\x1b[1mHost-device sync points"));
}

TEST(TextTest, ShortensTheLongestNamesInTheMiddleButNotInJson) {
  analysis::HuntReport report = ReportOfPlaces({"train.py"});
  report.sites[0].innermost_user.reset();
  report.sites[0].native_symbol = LongKernelName();
  report.range = LongKernelName();
  for (const std::string& text : {HuntTerminal(report, {false, 120}), HuntMarkdown(report)}) {
    EXPECT_LT(text.size(), 10'000u);
    EXPECT_NE(text.find("at::native::vectorized_elem"), std::string::npos);
    EXPECT_NE(text.find("4>(int, float*)"), std::string::npos);
  }
  EXPECT_NE(HuntJson(report, {}).find("\"native_symbol\": \"" + LongKernelName() + "\""), std::string::npos);
}

TEST(MarkdownTest, FencesNamesThatHoldBackticks) {
  const std::string text = HuntMarkdown(ReportOfPlaces({"a`b``c|d"}));
  EXPECT_NE(text.find("| ```a`b``c\\|d:87``` |"), std::string::npos) << text;
  EXPECT_NE(HuntMarkdown(ReportOfPlaces({"`"})).find("| `` `:87 `` |"), std::string::npos);
}

TEST(MarkdownTest, MakesNamesInSentencesCode) {
  analysis::HuntReport report = OrdinaryHunt();
  report.range = "<b>step</b>";
  report.notes = {"see http://evil.example and @user"};
  const std::string text = HuntMarkdown(report);
  EXPECT_NE(text.find("10 occurrences of range `<b>step</b>`;"), std::string::npos) << text;
  EXPECT_NE(text.find("Note: see `http://evil.example` and `@user`\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace stallhound::reports
