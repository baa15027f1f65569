#include "cli/config/config_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace stallhound::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kFile[] = R"([bench]
min-time = "1500us"
[gate]
time-budget-ratio = 0.25
[[gate.budget]]
benchmark = "a\\*"
ratio = 0.02
[[gate.budget]]
benchmark = "b"
ratio = 1
)";

std::vector<const ConfigKey*> AllKeys() {
  std::vector<const ConfigKey*> keys;
  for (const ConfigKey& key : ConfigKeys()) keys.push_back(&key);
  return keys;
}

Config FileConfig() { return *ParseConfig(kFile, "/x/stallhound.toml"); }

TEST(ConfigReportTest, SaysWhereEachValueIsFrom) {
  const std::string text = ConfigToml(FileConfig(), AllKeys());
  EXPECT_THAT(text, StartsWith("# /x/stallhound.toml\n\n[bench]\nbinary = "));
  EXPECT_THAT(text, HasSubstr("min-time = \"1500us\"                       # /x/stallhound.toml:2\n"));
  EXPECT_THAT(text, HasSubstr("# round-timeout is unset                  # default\n"));
  EXPECT_THAT(text, HasSubstr("[[gate.budget]]\nbenchmark = \"b\"                           # /x/stallhound.toml:9\n"));
  EXPECT_THAT(ConfigToml(Config{.folder = "/y"}, AllKeys()),
              StartsWith("# There is no stallhound.toml in /y or above.\n"));
}

TEST(ConfigReportTest, WhatItPrintsMeansTheSame) {
  const std::string text = ConfigToml(FileConfig(), AllKeys());
  const absl::StatusOr<Config> again = ParseConfig(text, "/x/stallhound.toml");
  ASSERT_TRUE(again.ok()) << again.status() << text;
  EXPECT_EQ(again->bench.min_time_ns, 1'500'000);
  EXPECT_EQ(again->gate.time_budget_ratio, 0.25);
  ASSERT_EQ(again->gate.budgets.size(), 2u);
  EXPECT_EQ(again->gate.budgets[0].benchmark, "a\\*");
  EXPECT_EQ(again->gate.budgets[1].ratio, 1);
  EXPECT_EQ(again->bench.round_timeout_ns, std::nullopt);
}

TEST(ConfigReportTest, JsonHoldsValuesWithTheirTypes) {
  const nlohmann::json json = nlohmann::json::parse(*ConfigJson(FileConfig(), AllKeys()));
  EXPECT_EQ(json["path"], "/x/stallhound.toml");
  EXPECT_EQ(json["folder"], "/x");
  std::map<std::string, nlohmann::json> values;
  for (const auto& value : json["values"]) values[value["key"]] = value;
  EXPECT_EQ(values["bench.rounds"]["value"], 8);
  EXPECT_TRUE(values["bench.rounds"]["line"].is_null());
  EXPECT_EQ(values["bench.min-time"]["value"], 1'500'000);
  EXPECT_EQ(values["bench.min-time"]["unit"], "ns");
  EXPECT_TRUE(values["bench.round-timeout"]["value"].is_null());
  EXPECT_EQ(values["gate.budget[1].ratio"]["value"], 1.0);
  EXPECT_EQ(values["gate.budget[1].ratio"]["line"], 10);
  EXPECT_TRUE(nlohmann::json::parse(*ConfigJson(Config{}, AllKeys()))["path"].is_null());
}

TEST(ConfigReportTest, JsonEndsWithOneNewline) {
  EXPECT_THAT(*ConfigJson(FileConfig(), AllKeys()), EndsWith("\n}\n"));
  EXPECT_THAT(*ExplainKeysJson(AllKeys()), EndsWith("\n]\n"));
}

TEST(ConfigReportTest, ExplainsEveryKey) {
  const std::string text = ExplainKeysText(AllKeys());
  const nlohmann::json json = nlohmann::json::parse(*ExplainKeysJson(AllKeys()));
  ASSERT_EQ(json.size(), ConfigKeys().size());
  for (const auto& key : json) {
    EXPECT_THAT(text, HasSubstr(key["key"].get<std::string>() + "\n  " + key["meaning"].get<std::string>() + "\n"));
    EXPECT_THAT(text, HasSubstr(" = " + key["example"].get<std::string>() + "\n"));
    const bool is_budget = key["key"].get<std::string>().starts_with("gate.budget.");
    EXPECT_EQ(key["default"].is_null(),
              is_budget || key["key"] == "bench.min-time" || key["key"] == "bench.round-timeout")
        << key["key"];
  }
}

TEST(ConfigReportTest, ExplainsTheKeysThatWereAskedFor) {
  const std::string one = ExplainKeysText(*FindConfigKeys("bench.rounds"));
  EXPECT_THAT(one, StartsWith("bench.rounds\n  Fresh processes"));
  EXPECT_THAT(
      one, HasSubstr(
               "  type     whole number from 1 to 1000\n  unit     processes\n  default  8\n  example  rounds = 16\n"));
  EXPECT_THAT(one, Not(HasSubstr("bench.suite")));
  EXPECT_EQ(FindConfigKeys("gate")->size(), 3u);
  const absl::Status unknown = FindConfigKeys("bench.round").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("did you mean 'bench.rounds'?"));
}

}  // namespace
}  // namespace stallhound::cli
