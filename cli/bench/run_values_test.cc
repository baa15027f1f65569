#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "cli/bench/bench_output.h"
#include "cli/bench/benchmark_results.h"
#include "cli/bench/run_environment.h"

namespace stallhound::cli {
namespace {

using store::BenchmarkResult;
using ::testing::StartsWith;

BenchOutput Round(double time_ns, const std::string& error = "") {
  BenchRow row;
  row.id = "layer/a";
  row.time_ns = time_ns;
  if (!error.empty()) row.error = error;
  BenchOutput output;
  output.rows = {row};
  return output;
}

TEST(BenchmarkResultsTest, StatisticsAreThoseOfTheRounds) {
  std::vector<BenchOutput> rounds;
  for (const double time_ns : {107.0, 101.0, 103.0, 102.0, 104.0, 105.0, 106.0, 108.0})
    rounds.push_back(Round(time_ns));
  const std::vector<BenchmarkResult> results = BenchmarkResults("suite", rounds);
  ASSERT_EQ(results.size(), 1u);
  ASSERT_EQ(results[0].points.size(), 1u);
  const store::Point& point = results[0].points[0];
  EXPECT_EQ(point.sample_count, 8);
  EXPECT_EQ(point.median, 104.5);
  EXPECT_EQ(point.mean, 104.5);
  EXPECT_NEAR(*point.standard_deviation, 2.449489742783178, 1e-12);
  EXPECT_EQ(point.median_deviation, 2);
  EXPECT_EQ(point.minimum, 101);
  EXPECT_EQ(point.lower_quartile, 102.75);
  EXPECT_EQ(point.upper_quartile, 106.25);
  EXPECT_EQ(point.interval_low, 101) << "of 8 values 95% needs the outermost: 1 - 2 * 0.5^8";
  EXPECT_EQ(point.interval_high, 108);
  EXPECT_EQ(point.samples[0].value, 107) << "in the order measured";
}

TEST(BenchmarkResultsTest, WhatOneRoundCannotTellIsUnknown) {
  const std::vector<BenchOutput> rounds = {Round(100)};
  const store::Point point = BenchmarkResults("suite", rounds)[0].points[0];
  EXPECT_EQ(point.standard_deviation, std::nullopt);
  EXPECT_EQ(point.interval_low, std::nullopt);
}

TEST(BenchmarkResultsTest, AFailureInALaterRoundIsOne) {
  const std::vector<BenchOutput> rounds = {Round(100), Round(0, "out of memory"), Round(0, "again")};
  const BenchmarkResult result = BenchmarkResults("suite", rounds)[0];
  EXPECT_EQ(result.outcome, store::BenchmarkOutcome::kFailed);
  EXPECT_EQ(result.message, "out of memory");
  EXPECT_TRUE(result.points.empty());
}

class BenchOutputTest : public ::testing::Test {
 protected:
  absl::StatusOr<BenchOutput> Read(const std::string& result) {
    return ReadBenchOutput(folder_.Write("result.json", result), folder_.File("samples.jsonl"));
  }
  stallhound::testing::TempDir folder_;
};

TEST_F(BenchOutputTest, UnitsAreConvertedAndAggregatesLeftOut) {
  const absl::StatusOr<BenchOutput> output = Read(R"({"context": {"stallhound_device": "cpu", "num_cpus": 2},
    "benchmarks": [
      {"name": "a/b/iterations:1/manual_time", "run_type": "iteration", "real_time": 1.5, "time_unit": "ms", "bytes": 8},
      {"name": "plain", "real_time": 3, "time_unit": "ns"},
      {"name": "a/b_mean", "run_type": "aggregate", "real_time": 2, "time_unit": "ms"}]})");
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_EQ(output->rows.size(), 2u);
  EXPECT_EQ(output->rows[0].id, "a/b");
  EXPECT_EQ(output->rows[0].time_ns, 1.5e6);
  EXPECT_EQ(output->rows[0].counters, (std::map<std::string, double>{{"bytes", 8}}));
  EXPECT_EQ(output->rows[1].id, "plain");
  EXPECT_EQ(output->context, (std::map<std::string, std::string>{{"stallhound_device", "cpu"}}));
  EXPECT_EQ(output->throttle_reasons, std::nullopt) << "there is no side file";
}

TEST_F(BenchOutputTest, ATimeThatCannotBeIsAFailure) {
  const absl::StatusOr<BenchOutput> output = Read(R"({"context": {"host": "a \"NaN\" inf"},
    "benchmarks": [
      {"name": "zero", "real_time": 0, "time_unit": "ns"},
      {"name": "negative", "real_time": -2.5, "time_unit": "us"},
      {"name": "nan", "real_time": NaN, "time_unit": "ns"},
      {"name": "infinite", "real_time": Infinity, "time_unit": "ns"},
      {"name": "minus", "real_time": -Infinity, "time_unit": "ns"},
      {"name": "long", "real_time": 1000001, "time_unit": "s"},
      {"name": "longest", "real_time": 1e6, "time_unit": "s", "copy_ns": -nan},
      {"name": "fine", "real_time": 3, "time_unit": "ns", "bytes": inf}]})");
  ASSERT_TRUE(output.ok()) << output.status();
  const std::pair<const char*, const char*> failures[] = {{"zero", "0 ns"},       {"negative", "-2500 ns"},
                                                          {"nan", "NaN"},         {"infinite", "Infinity"},
                                                          {"minus", "-Infinity"}, {"long", "1000001000000000 ns"}};
  ASSERT_EQ(output->rows.size(), std::size(failures) + 2);
  for (size_t i = 0; i < std::size(failures); ++i) {
    EXPECT_EQ(output->rows[i].error, std::string("the bench reported the time ") + failures[i].second + " for '" +
                                         failures[i].first + "': above 0 and at most 1000000000000000 ns is possible");
  }
  for (size_t i = std::size(failures); i < output->rows.size(); ++i) {
    EXPECT_EQ(output->rows[i].error, std::nullopt);
    EXPECT_TRUE(output->rows[i].counters.empty()) << "unknown";
  }
  EXPECT_EQ(output->context.at("host"), "a \"NaN\" inf");
}

TEST_F(BenchOutputTest, ACounterThatCannotBeIsAFailureOfItsCaseAlone) {
  const std::pair<const char*, const char*> counters[] = {{R"("sm_clock_hz": -1)", "sm_clock_hz -1"},
                                                          {R"("sm_clock_hz": 1e30)", "sm_clock_hz 1e+30"},
                                                          {R"("bytes": 1e300)", "bytes 1e+300"},
                                                          {R"("bytes": -1)", "bytes -1"},
                                                          {R"("flops": 1e19)", "flops 1e+19"},
                                                          {R"("flops": -3)", "flops -3"},
                                                          {R"("host_ns": -5)", "host_ns -5"},
                                                          {R"("host_ns": 1e25)", "host_ns 1e+25"},
                                                          {R"("graph_ns": 1e25)", "graph_ns 1e+25"},
                                                          {R"("copy_ratio": -1e308)", "copy_ratio -1e+308"},
                                                          {R"("expect_sync_count": -1)", "expect_sync_count -1"}};
  for (const auto& [counter, named] : counters) {
    const absl::StatusOr<BenchOutput> output =
        Read(std::string(R"({"benchmarks": [{"name": "bad", "real_time": 3, "time_unit": "ns", )") + counter +
             R"(}, {"name": "fine", "real_time": 3, "time_unit": "ns", "bytes": 8, "other": -1e300}]})");
    ASSERT_TRUE(output.ok()) << output.status();
    ASSERT_EQ(output->rows.size(), 2u);
    EXPECT_THAT(output->rows[0].error.value_or("none"),
                StartsWith(std::string("the bench reported the counter ") + named + " for 'bad': "));
    EXPECT_EQ(output->rows[1].error, std::nullopt);
  }
}

TEST_F(BenchOutputTest, AClockOfTheSideFileThatCannotBeIsUnknown) {
  folder_.Write("samples.jsonl", R"({"id": "a", "sm_clock_hz": [-5, 0, 1980000000, null]})");
  const absl::StatusOr<BenchOutput> output = Read(R"({"benchmarks": []})");
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->sm_clock_min_hz, 1'980'000'000);
}

TEST_F(BenchOutputTest, ACaseIsReportedOnce) {
  const absl::Status status = Read(R"({"benchmarks": [{"name": "a", "real_time": 3, "time_unit": "ns"},
      {"name": "a/iterations:1/manual_time", "real_time": 3, "time_unit": "ns"}]})")
                                  .status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_NE(status.message().find("it reports 'a' twice"), std::string::npos) << status;
}

TEST_F(BenchOutputTest, RefusesWhatIsNoResult) {
  for (const char* text : {"", "{", "[]", R"({"benchmarks": 1})", R"({"benchmarks": [1]})",
                           R"({"benchmarks": [{"real_time": 1, "time_unit": "ns"}]})",
                           R"({"benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]})",
                           R"({"benchmarks": [{"name": "a", "time_unit": "ns"}]})"}) {
    EXPECT_TRUE(absl::IsDataLoss(Read(text).status())) << text;
  }
  folder_.Write("samples.jsonl", "{}\nx\n");
  EXPECT_TRUE(absl::IsDataLoss(Read(R"({"benchmarks": []})").status()));
}

TEST(RunEnvironmentTest, TheFingerprintComesBeforeTheContext) {
  const Fingerprint fingerprint = {{"gpu.count", "1"},
                                   {"gpu.0.name", "NVIDIA H200"},
                                   {"gpu.0.sm_count", "132"},
                                   {"gpu.0.max_sm_clock_mhz", "1980"},
                                   {"gpu.0.ecc", "1"},
                                   {"gpu.0.mig", "0"},
                                   {"gpu.0.persistence", "1"},
                                   {"driver.version", "580.1"},
                                   {"library.torch", "2.11.0+cu130"},
                                   {"gpu.0.power_limit_mw", "700000"}};
  const std::map<std::string, std::string> context = {
      {"stallhound_device", "cuda"}, {"driver_version", "1"}, {"torch_version", "2.11.0"}};
  store::RunInfo info;
  FillEnvironment(fingerprint, context, {"Xeon", 16, "6.1", {{"NVIDIA_TF32_OVERRIDE", "0"}}}, info);
  EXPECT_EQ(info.hardware.gpu_name, "NVIDIA H200");
  EXPECT_EQ(info.hardware.gpu_count, 1);
  EXPECT_EQ(info.hardware.sm_count, 132);
  EXPECT_EQ(info.hardware.sm_clock_max_hz, 1'980'000'000);
  EXPECT_EQ(info.hardware.power_limit_mw, 700'000);
  EXPECT_EQ(info.hardware.ecc, true);
  EXPECT_EQ(info.hardware.mig_profile, "");
  EXPECT_EQ(info.hardware.cpu_count, 16);
  EXPECT_EQ(info.environment.persistence_mode, true);
  EXPECT_EQ(info.environment.driver, "580.1");
  EXPECT_EQ(info.environment.libtorch, "2.11.0+cu130");
  EXPECT_EQ(info.environment.cudnn, std::nullopt);
  EXPECT_EQ(info.environment.switches.at("NVIDIA_TF32_OVERRIDE"), "0");
}

// A T4 at the first PCI address, two A100 behind it, of which one has a lower limit.
store::RunInfo MeasuredAmongThree(const std::string& device_name) {
  const Fingerprint fingerprint = {
      {"gpu.count", "3"},
      {"gpu.0.name", "Tesla T4"},
      {"gpu.0.sm_count", "40"},
      {"gpu.0.ecc", "1"},
      {"gpu.0.power_limit_mw", "70000"},
      {"gpu.0.persistence", "1"},
      {"gpu.1.name", "NVIDIA A100-PCIE-40GB"},
      {"gpu.1.sm_count", "108"},
      {"gpu.1.ecc", "1"},
      {"gpu.1.mig", "0"},
      {"gpu.1.power_limit_mw", "250000"},
      {"gpu.1.persistence", "1"},
      {"gpu.2.name", "NVIDIA A100-PCIE-40GB"},
      {"gpu.2.sm_count", "108"},
      {"gpu.2.ecc", "1"},
      {"gpu.2.mig", "0"},
      {"gpu.2.power_limit_mw", "200000"},
  };
  store::RunInfo info;
  FillEnvironment(fingerprint, {{"stallhound_device", "cuda"}, {"device_name", device_name}}, {}, info);
  return info;
}

TEST(RunEnvironmentTest, OfSeveralGpusTheOneThatCudaNames) {
  const store::RunInfo small = MeasuredAmongThree("Tesla T4");
  EXPECT_EQ(small.hardware.gpu_name, "Tesla T4");
  EXPECT_EQ(small.hardware.sm_count, 40);
  EXPECT_EQ(small.hardware.power_limit_mw, 70'000);
  EXPECT_EQ(small.environment.persistence_mode, true);

  const store::RunInfo large = MeasuredAmongThree("NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(large.hardware.gpu_name, "NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(large.hardware.gpu_count, 3);
  EXPECT_EQ(large.hardware.sm_count, 108);
  EXPECT_EQ(large.hardware.mig_profile, "");
  EXPECT_EQ(large.hardware.power_limit_mw, std::nullopt) << "either of the two";
  EXPECT_EQ(large.environment.persistence_mode, std::nullopt) << "unknown of one";
}

TEST(RunEnvironmentTest, OfAGpuThatTheFingerprintDoesNotNameOnlyWhatAllShare) {
  const store::RunInfo info = MeasuredAmongThree("NVIDIA Something");
  EXPECT_EQ(info.hardware.gpu_name, "NVIDIA Something");
  EXPECT_EQ(info.hardware.ecc, true);
  EXPECT_EQ(info.hardware.sm_count, std::nullopt);
  EXPECT_EQ(info.hardware.mig_profile, std::nullopt);
  EXPECT_EQ(MeasuredAmongThree("").hardware.gpu_name, std::nullopt);
}

TEST(RunEnvironmentTest, SlicesOfDifferentSizeDiffer) {
  const Fingerprint fingerprint = {{"gpu.count", "1"},        {"gpu.0.name", "NVIDIA H200"},
                                   {"gpu.0.sm_count", "132"}, {"gpu.0.memory_bytes", "150754820096"},
                                   {"gpu.0.ecc", "1"},        {"gpu.0.mig", "1"}};
  const auto hardware = [&](const std::string& device_name) {
    store::RunInfo info;
    FillEnvironment(fingerprint, {{"stallhound_device", "cuda"}, {"device_name", device_name}}, {}, info);
    return info.hardware;
  };
  const store::Hardware slice = hardware("NVIDIA H200 MIG 1g.18gb");
  EXPECT_EQ(slice.mig_profile, "1g.18gb");
  EXPECT_EQ(slice.sm_count, std::nullopt) << "132 is the whole GPU's";
  EXPECT_EQ(slice.memory_bytes, std::nullopt);
  EXPECT_EQ(slice.ecc, true);
  EXPECT_EQ(hardware("NVIDIA H200 MIG 3g.71gb").mig_profile, "3g.71gb");
  EXPECT_EQ(hardware("").mig_profile, std::nullopt) << "a slice, but which";
  EXPECT_EQ(hardware("").sm_count, std::nullopt);
}

TEST(RunEnvironmentTest, WithoutAFingerprintTheContextSpeaks) {
  store::RunInfo info;
  const std::map<std::string, std::string> context = {{"stallhound_device", "cuda"},
                                                      {"device_name", "NVIDIA H200"},
                                                      {"driver_version", "580.1"},
                                                      {"compiler", "gcc 12.2.0"},
                                                      {"build_flags", "optimized"}};
  FillEnvironment({}, context, {}, info);
  EXPECT_EQ(info.hardware.gpu_name, "NVIDIA H200");
  EXPECT_EQ(info.hardware.gpu_count, std::nullopt);
  EXPECT_EQ(info.hardware.cpu_count, std::nullopt);
  EXPECT_EQ(info.environment.driver, "580.1");
  EXPECT_EQ(info.environment.compiler, "gcc 12.2.0");
  EXPECT_EQ(info.environment.build_flags, "optimized");
}

TEST(RunEnvironmentTest, SwitchesAreAllowListed) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  setenv("SECRET_TOKEN", "x", 1);
  const HostFacts host = ReadHostFacts();
  EXPECT_EQ(host.switches.at("CUDA_LAUNCH_BLOCKING"), "1");
  EXPECT_EQ(host.switches.count("CUDA_VISIBLE_DEVICES"), 0u);
  EXPECT_EQ(host.switches.count("SECRET_TOKEN"), 0u);
  EXPECT_GT(host.cpu_count, 0);
}

}  // namespace
}  // namespace stallhound::cli
