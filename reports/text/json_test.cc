#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/testing/golden.h"
#include "base/unicode.h"
#include "reports/testing/reports.h"
#include "reports/text/counts_text.h"
#include "reports/text/hunt_text.h"

namespace stallhound::reports {
namespace {

using nlohmann::json;

// All keys of the value, but not those that are data.
void CollectKeys(const json& value, std::set<std::string>& keys) {
  for (const auto& [key, child] : value.items()) {
    if (value.is_object()) keys.insert(key);
    if (child.is_structured() && key != "environment" && key != "sync_points") CollectKeys(child, keys);
  }
}

// What stands in backticks in the tables and the sentence on counts: "`copies[]`" is the key copies.
std::set<std::string> DocumentedKeys() {
  const absl::StatusOr<std::string> readme = ReadFile(testing::DataPath("reports/text/README.md"));
  EXPECT_TRUE(readme.ok()) << readme.status();
  const std::string text =
      readme->substr(readme->find("## JSON"), readme->find("May depend") - readme->find("## JSON"));
  std::set<std::string> keys;
  for (size_t begin = text.find('`'); begin != std::string::npos;) {
    const size_t end = text.find('`', begin + 1);
    std::string key = text.substr(begin + 1, end - begin - 1);
    key.erase(std::min(key.find("[]"), key.size()));
    keys.insert(key);
    begin = text.find('`', end + 1);
  }
  return keys;
}

TEST(JsonTest, WritesExactlyTheDocumentedKeys) {
  std::set<std::string> keys;
  analysis::HuntReport hunt = OrdinaryHunt();
  hunt.steps.emplace().one_off_costs.push_back({"module loading", 3, 2'000'000});
  CollectKeys(json::parse(HuntJson(hunt, {})), keys);
  CollectKeys(json::parse(CountsJson(OrdinaryCounts())), keys);
  EXPECT_EQ(keys, DocumentedKeys());
}

TEST(JsonTest, StatesVersionAndOutcome) {
  const json hunt = json::parse(HuntJson(OrdinaryHunt(), {std::nullopt, 9, 5}));
  EXPECT_EQ(hunt["version"], 1);
  EXPECT_TRUE(hunt["program"]["exit_code"].is_null());
  EXPECT_EQ(hunt["program"]["signal"], 9);
  EXPECT_EQ(hunt["verdict_exit_code"], 5);
  EXPECT_EQ(json::parse(CountsJson(OrdinaryCounts()))["version"], 1);
}

TEST(JsonTest, WritesUnknownAsNull) {
  const json hunt = json::parse(HuntJson(LightHunt(), {}));
  for (const char* key : {"stall_count", "blocked_ns", "idle_ns", "idle_compute_ns", "idle_return_ns"}) {
    EXPECT_TRUE(hunt["sites"][0]["cost"][key].is_null()) << key;
    EXPECT_TRUE(hunt["totals"][0]["cost"][key].is_null()) << key;
  }
  EXPECT_TRUE(hunt["sites"][0]["copies"][0]["source_kind"].is_null());
  EXPECT_TRUE(hunt["range"].is_null());
  EXPECT_TRUE(json::parse(HuntJson(EmptyHunt(), {}))["capture"]["mode"].is_null());
}

TEST(JsonTest, ACountThatWasNotRecordedIsNull) {
  analysis::HuntReport report = EmptyHunt();
  EXPECT_EQ(json::parse(HuntJson(report, {}))["sync_point_count"], 0);
  report.sync_point_count.reset();
  report.counts_complete = false;
  EXPECT_TRUE(json::parse(HuntJson(report, {}))["sync_point_count"].is_null());
}

TEST(JsonTest, KeepsHostileNamesWhole) {
  const std::string text = HuntJson(HostileHunt(), {});
  const json hunt = json::parse(text);
  const std::vector<std::string> names = HostileTexts();
  const size_t own_count = OrdinaryHunt().ranges.size();
  ASSERT_EQ(hunt["ranges"].size(), own_count + names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(hunt["ranges"][own_count + i]["name"], ReplaceInvalidUtf8(names[i]));
  }
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Char c = FirstUtf8Char(rest);
    EXPECT_TRUE(c.is_valid && (c.code == '\n' || !ChangesDisplay(c.code)));
    rest.remove_prefix(c.length_bytes);
  }
}

TEST(JsonTest, KeepsEveryValueOfAKeyOfTheEnvironment) {
  const json environment = json::parse(HuntJson(OrdinaryHunt(), {}))["environment"];
  EXPECT_EQ(environment["CUDA"], "13.0");
  EXPECT_EQ(environment["OMP_NUM_THREADS"], json({"8", "16"}));
}

}  // namespace
}  // namespace stallhound::reports
