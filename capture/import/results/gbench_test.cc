#include "capture/import/results/gbench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/import/results/mended_json.h"

namespace stallhound::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kContext[] =
    R"({"context": {"date": "2026-01-01", "host_name": "secret", "executable": "/home/jane/bench", "num_cpus": 2,
"library_version": "v1.9.4", "load_avg": [0.5,0.4,0.3]}, "benchmarks": [)";

std::unique_ptr<Results> Parse(const std::string& entries) {
  absl::StatusOr<std::unique_ptr<Results>> results = ParseGoogleBenchmark(kContext + entries + "]}");
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? *std::move(results) : std::make_unique<Results>();
}

int64_t Fact(const Results& results, std::string_view name) {
  for (const auto& [key, value] : results.counts.numbers) {
    if (key == name) return value.value_or(-1);
  }
  return -1;
}

const std::map<std::string, double>& Times(const Results& results) { return results.counts.maps.at(0).second; }

std::string Notes(const Results& results) { return fmt::format("{}", fmt::join(results.info.notes, "\n")); }

const BenchmarkPointRow* Find(const Results& results, std::string_view benchmark, std::string_view metric) {
  for (const BenchmarkPointRow& row : results.benchmark_point) {
    if (results.strings.Get(row.benchmark) == benchmark && results.strings.Get(row.metric) == metric) return &row;
  }
  return nullptr;
}

TEST(GoogleBenchmarkTest, ReadsIterations) {
  const auto results = Parse(R"({"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "repetition_index": 0,
      "iterations": 1000, "real_time": 10.5, "cpu_time": 9, "time_unit": "us", "bytes_per_second": 1e9, "depth": 3})");
  EXPECT_THAT(Times(*results), ElementsAre(Pair("BM_a/8", 10500)));
  const BenchmarkPointRow* time = Find(*results, "BM_a/8", "real_time");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->value, 10500);
  EXPECT_EQ(results->strings.Get(*time->unit), "ns");
  EXPECT_EQ(time->iteration_count, 1000);
  EXPECT_EQ(time->repetition, 0);
  EXPECT_FALSE(time->aggregate.has_value());
  EXPECT_EQ(results->strings.Get(*Find(*results, "BM_a/8", "bytes_per_second")->unit), "bytes/s");
  EXPECT_EQ(Find(*results, "BM_a/8", "depth")->value, 3);
  EXPECT_EQ(results->info.producer, "google benchmark v1.9.4");
}

TEST(GoogleBenchmarkTest, KeepsNamesOfHostsAndPathsOut) {
  const auto results = Parse("");
  for (size_t i = 0; i < results->strings.size(); ++i) {
    EXPECT_THAT(std::string(results->strings.Get(static_cast<StringId>(i))),
                ::testing::Not(::testing::AnyOf(HasSubstr("secret"), HasSubstr("jane"))));
  }
  EXPECT_EQ(results->environment.size(), 3u);
}

TEST(GoogleBenchmarkTest, NotANumberIsInvalidAndNeverZero) {
  const auto results = Parse(R"({"name":"BM_ok","real_time":10.0,"cpu_time":10.0,"time_unit":"ns"},
      {"name":"BM_rate","real_time": NaN,"cpu_time": -NaN,"time_unit":"ns","items_per_second": Infinity})");
  EXPECT_EQ(Fact(*results, "benchmarks"), 1);
  EXPECT_EQ(Fact(*results, "invalid"), 1);
  EXPECT_THAT(Times(*results), ElementsAre(Pair("BM_ok", 10)));
  EXPECT_THAT(Notes(*results), HasSubstr("BM_rate"));
  const BenchmarkPointRow* rate = Find(*results, "BM_rate", "items_per_second");
  ASSERT_NE(rate, nullptr);
  EXPECT_FALSE(rate->value.has_value());
  EXPECT_TRUE(rate->error.has_value());
  ASSERT_EQ(results->loss.size(), 1u);
  EXPECT_EQ(results->loss[0].counter, LossCounter::kForgivenJson);
  EXPECT_EQ(results->loss[0].count, 3);
}

TEST(GoogleBenchmarkTest, FailedAndSkippedAreRowsThatSayWhy) {
  const auto results = Parse(R"({"name":"BM_bad","error_occurred":true,"error_message":"no device","real_time":0},
      {"name":"BM_skip","skipped":true,"skip_message":"too big","real_time":0},
      {"name":"BM_ok","real_time":1,"time_unit":"ms"})");
  EXPECT_EQ(Fact(*results, "benchmarks"), 1);
  EXPECT_EQ(Fact(*results, "failed"), 1);
  EXPECT_EQ(Fact(*results, "skipped"), 1);
  const BenchmarkPointRow* bad = Find(*results, "BM_bad", "real_time");
  ASSERT_NE(bad, nullptr);
  EXPECT_FALSE(bad->value.has_value());
  EXPECT_EQ(results->strings.Get(*bad->error), "no device");
}

TEST(GoogleBenchmarkTest, BigOAndRmsAreNoTimings) {
  for (const char* rms : {"2%", "0.02"}) {
    const auto results = Parse(fmt::format(R"({{"name":"BM_c/8","real_time":10,"time_unit":"ns"}},
        {{"name":"BM_c_BigO","cpu_coefficient":672,"real_coefficient":672,"big_o":"N","time_unit":"ns"}},
        {{"name":"BM_c_RMS","rms": {}}})",
                                           rms));
    EXPECT_EQ(Fact(*results, "benchmarks"), 1);
    EXPECT_THAT(Times(*results), ElementsAre(Pair("BM_c/8", 10)));
    const BenchmarkPointRow* row = Find(*results, "BM_c", "rms");
    ASSERT_NE(row, nullptr);
    EXPECT_NEAR(*row->value, 0.02, 1e-12);
    EXPECT_EQ(results->strings.Get(*row->unit), "ratio");
  }
}

TEST(GoogleBenchmarkTest, AggregatesOnlyGiveTheMedianAndSaySo) {
  const auto results = Parse(R"(
      {"name":"BM_x_mean","run_name":"BM_x","run_type":"aggregate","aggregate_name":"mean","real_time":104.2,"time_unit":"us"},
      {"name":"BM_x_median","run_name":"BM_x","run_type":"aggregate","aggregate_name":"median","real_time":103.9,"time_unit":"us"},
      {"name":"BM_x_cv","run_name":"BM_x","run_type":"aggregate","aggregate_name":"cv","aggregate_unit":"percentage",
       "real_time":0.0163,"time_unit":"us"})");
  ASSERT_EQ(Times(*results).size(), 1u);
  EXPECT_DOUBLE_EQ(Times(*results).at("BM_x"), 103900);
  EXPECT_THAT(Notes(*results), HasSubstr("aggregates only"));
  const BenchmarkPointRow& cv = results->benchmark_point.back();
  EXPECT_EQ(cv.value, 0.0163);
  EXPECT_EQ(results->strings.Get(*cv.unit), "ratio");
}

TEST(GoogleBenchmarkTest, RepetitionsGiveTheirMedian) {
  const auto results = Parse(R"({"name":"BM_r","run_type":"iteration","repetition_index":0,"real_time":3},
      {"name":"BM_r","run_type":"iteration","repetition_index":1,"real_time":1},
      {"name":"BM_r","run_type":"iteration","repetition_index":2,"real_time":2},
      {"name":"BM_r_mean","run_name":"BM_r","run_type":"aggregate","aggregate_name":"mean","real_time":99})");
  EXPECT_EQ(Fact(*results, "benchmarks"), 1);
  EXPECT_THAT(Times(*results), ElementsAre(Pair("BM_r", 2)));
}

TEST(GoogleBenchmarkTest, EqualNamesInTwoFamiliesAreTwoBenchmarks) {
  const auto results = Parse(R"({"name":"BM_d","family_index":0,"real_time":5,"time_unit":"ns"},
      {"name":"BM_d","family_index":1,"real_time":5,"time_unit":"us"})");
  EXPECT_EQ(Fact(*results, "benchmarks"), 2);
  EXPECT_THAT(Times(*results), UnorderedElementsAre(Pair("BM_d", 5), Pair("BM_d (family 1)", 5000)));
}

TEST(GoogleBenchmarkTest, EntriesWithoutTimesAreNoBenchmarks) {
  const auto results = Parse(R"({"name":"family 0 instance 0","run_type":"iteration","family_index":0})");
  EXPECT_EQ(Fact(*results, "benchmarks"), 0);
  EXPECT_EQ(Fact(*results, "invalid"), 0);
}

TEST(GoogleBenchmarkTest, DigitGroupsOfALocaleAreJoined) {
  const auto results = Parse(R"({"name":"BM_g","iterations": 1,000,000,"real_time": 1,234.5,"time_unit":"ns"})");
  EXPECT_THAT(Times(*results), ElementsAre(Pair("BM_g", 1234.5)));
  EXPECT_EQ(results->benchmark_point[0].iteration_count, 1000000);
}

TEST(GoogleBenchmarkTest, TextAroundTheJsonIsLeftOut) {
  const std::string json = std::string(kContext) + R"({"name":"BM_ok","real_time":10}]})";
  const auto results = ParseGoogleBenchmark("2026-01-01\nRunning {./bench}\n***WARNING***\n" + json + "\ndone }\n");
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Times(**results), ElementsAre(Pair("BM_ok", 10)));
  EXPECT_THAT(Notes(**results), HasSubstr("3 lines of text before"));
}

TEST(GoogleBenchmarkTest, RefusesWhatIsCutOrSomethingElse) {
  EXPECT_EQ(ParseGoogleBenchmark(kContext).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseGoogleBenchmark("no braces at all").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseGoogleBenchmark(R"({"traceEvents": []})").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseGoogleBenchmark(R"({"benchmarks": {}})").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MendedJsonTest, LeavesStringsAndValidNumbersAlone) {
  const std::string text = R"({"a": "NaN, 2% 1,000", "b": [-1.5e+3, 0, 100,200], "c\"": true})";
  const MendedJson json = MendJson(text, {"a"});
  EXPECT_EQ(json.text, text);
  EXPECT_TRUE(json.mended.empty());
}

TEST(MendedJsonTest, SaysWhereItMended) {
  const MendedJson json = MendJson("log {\n{\"a\": 1,\n\"b\": nan,\n\"c\": 007}", {"a"});
  EXPECT_EQ(json.text, "{\"a\": 1,\n\"b\": null,\n\"c\": null}");
  ASSERT_EQ(json.mended.size(), 2u);
  EXPECT_EQ(json.mended[0].line, 3);
  EXPECT_EQ(json.mended[1].token, "007");
}

}  // namespace
}  // namespace stallhound::capture
