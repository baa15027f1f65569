#include "cli/gate/judge_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "cli/gate/confirmed_verdicts.h"
#include "cli/gate/judgement_uuid.h"
#include "store/history.h"

namespace stallhound::cli {
namespace {

using analysis::gate::CaseRounds;
using store::BenchmarkOutcome;
using store::BenchmarkResult;
using store::EventKind;
using store::RunRecord;
using store::Verdict;
using store::VerdictOutcome;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kCase[] = "layer_norm/optimized/fp32/8x8/forward";
constexpr int64_t kNowNs = 1'800'000'000'000'000'000;

store::Point TimePoint(double scale) {
  store::Point point;
  point.metric = {"gpu_time_ns", "ns"};
  for (int64_t round = 0; round < 8; ++round) {
    for (const int64_t value : {99'000, 100'000, 101'000}) {
      const int64_t noise = (round * 37) % 8 * 20;
      point.samples.push_back({round, static_cast<int64_t>(scale * static_cast<double>(value + noise)), 1'700'000'000});
    }
  }
  point.sample_count = static_cast<int64_t>(point.samples.size());
  return point;
}

BenchmarkResult Case(const std::string& name = kCase) {
  BenchmarkResult result;
  result.suite = "bench";
  result.name = name;
  result.iteration_count = 20;
  result.counts_complete = true;
  result.points = {TimePoint(1)};
  result.kernels = {{"layer_norm_forward<float>", "8x1x1", "128x1x1", 32, 0, 1, 1}};
  result.event_counts = {{EventKind::kKernel, std::nullopt, std::nullopt, "cudaLaunchKernel", 1, 1},
                         {EventKind::kWait, std::nullopt, std::nullopt, std::nullopt, 0, 0},
                         {EventKind::kHostToDevice, "pinned", "device", "cudaMemcpyAsync", 1, 1, 4096, 4096}};
  return result;
}

RunRecord RunOf(const std::string& uuid, std::vector<BenchmarkResult> benchmarks = {Case()}) {
  RunRecord run;
  run.info.uuid = uuid;
  run.info.machine = "bench-1";
  run.info.hardware.gpu_name = "NVIDIA H200";
  run.info.hardware.sm_count = 132;
  run.info.environment.driver = "580.65.06";
  run.benchmarks = std::move(benchmarks);
  return run;
}

JudgedRun Judged(const RunRecord& baseline, const RunRecord& candidate, JudgeRequest request = {}) {
  request.baseline = &baseline;
  request.candidate = &candidate;
  request.judged_at_ns = kNowNs;
  absl::StatusOr<JudgedRun> judged = JudgeRun(request);
  EXPECT_TRUE(judged.ok()) << judged.status();
  return judged.ok() ? *std::move(judged) : JudgedRun();
}

Verdict Find(const JudgedRun& judged, const std::string& metric, const std::string& benchmark = kCase) {
  for (const Verdict& verdict : judged.judgement.verdicts) {
    if (verdict.metric == metric && verdict.benchmark == benchmark) return verdict;
  }
  ADD_FAILURE() << "no verdict on " << metric << " of " << benchmark;
  return {};
}

BenchmarkResult WithWait(int64_t line) {
  BenchmarkResult result = Case();
  result.event_counts[1] = {EventKind::kWait, std::nullopt, std::nullopt, "cudaStreamSynchronize", 1, 1};
  result.sync_sites = {{EventKind::kWait, "kernels/layer_norm/layer_norm_optimized.cc", line, "LayerNorm", std::nullopt,
                        "aten::item", "cudaStreamSynchronize", 20}};
  return result;
}

TEST(JudgeRunTest, TheSameCodePasses) {
  const JudgedRun judged = Judged(RunOf("a"), RunOf("b"));
  EXPECT_THAT(judged.judgement.verdicts, SizeIs(4));
  for (const Verdict& verdict : judged.judgement.verdicts) {
    EXPECT_EQ(verdict.outcome, VerdictOutcome::kPass) << verdict.metric << ": " << verdict.reason;
  }
  EXPECT_EQ(Find(judged, "host-to-device").reason, "counts-equal: 1");
  EXPECT_THAT(judged.differences, IsEmpty());
  EXPECT_EQ(judged.judgement.run_uuid, "b");
  EXPECT_THAT(judged.judgement.baseline_run_uuids, ElementsAre("a"));
}

TEST(JudgeRunTest, AnExtraWaitRegressesAndNamesItsLine) {
  const JudgedRun judged = Judged(RunOf("a"), RunOf("b", {WithWait(41)}));
  const Verdict wait = Find(judged, "wait");
  EXPECT_EQ(wait.outcome, VerdictOutcome::kRegressed);
  EXPECT_EQ(wait.reason, "count-rose: 0 -> 1");
  EXPECT_EQ(wait.effect_ratio, std::nullopt);
  ASSERT_THAT(judged.differences, SizeIs(1));
  EXPECT_EQ(judged.differences[0].benchmark, kCase);
  ASSERT_THAT(judged.differences[0].sites.risen, SizeIs(1));
  const analysis::gate::SiteCount& site = *judged.differences[0].sites.risen[0].candidate;
  EXPECT_EQ(site.file, "kernels/layer_norm/layer_norm_optimized.cc");
  EXPECT_EQ(site.line, 41);
  EXPECT_EQ(site.operator_name, "aten::item");
  EXPECT_EQ(site.per_iteration, (analysis::gate::CountRange{1, 1}));

  const JudgedRun back = Judged(RunOf("a", {WithWait(41)}), RunOf("b"));
  EXPECT_EQ(Find(back, "wait").outcome, VerdictOutcome::kImproved);
  EXPECT_EQ(Find(back, "wait").effect_ratio, 0);
}

TEST(JudgeRunTest, AMovedLineIsNoChange) {
  const JudgedRun judged = Judged(RunOf("a", {WithWait(41)}), RunOf("b", {WithWait(57)}));
  EXPECT_EQ(Find(judged, "wait").outcome, VerdictOutcome::kPass);
  EXPECT_THAT(judged.differences, IsEmpty());
}

TEST(JudgeRunTest, AReplacedKernelIsToldButNoRegression) {
  BenchmarkResult other = Case();
  other.kernels[0].name = "vectorized_layer_norm<float, 4>";
  const JudgedRun judged = Judged(RunOf("a"), RunOf("b", {other}));
  EXPECT_EQ(Find(judged, "kernel").outcome, VerdictOutcome::kPass);
  ASSERT_THAT(judged.differences, SizeIs(1));
  EXPECT_EQ(judged.differences[0].kernels.risen[0].name, "vectorized_layer_norm<float, 4>");
  EXPECT_EQ(judged.differences[0].kernels.fallen[0].name, "layer_norm_forward<float>");
}

TEST(JudgeRunTest, CopiesThatBecomePageableRegressAndBackImprove) {
  BenchmarkResult pageable = Case();
  pageable.event_counts[2].source_memory = "pageable";
  const Verdict worse = Find(Judged(RunOf("a"), RunOf("b", {pageable})), "host-to-device");
  EXPECT_EQ(worse.outcome, VerdictOutcome::kRegressed);
  EXPECT_THAT(worse.reason, StartsWith("count-rose: "));
  EXPECT_THAT(worse.reason, HasSubstr("pageable to device 0 -> 1"));
  EXPECT_THAT(worse.reason, HasSubstr("pageable to device bytes 0 -> 4,096"));
  EXPECT_EQ(Find(Judged(RunOf("a", {pageable}), RunOf("b")), "host-to-device").outcome, VerdictOutcome::kImproved);
}

TEST(JudgeRunTest, MoreBytesInAsManyCopiesRegress) {
  BenchmarkResult larger = Case();
  larger.event_counts[2].min_bytes = larger.event_counts[2].max_bytes = 8192;
  const Verdict verdict = Find(Judged(RunOf("a"), RunOf("b", {larger})), "host-to-device");
  EXPECT_EQ(verdict.outcome, VerdictOutcome::kRegressed);
  EXPECT_THAT(verdict.reason, HasSubstr("bytes 4,096 -> 8,192"));
  EXPECT_EQ(verdict.effect_ratio, 2);
  BenchmarkResult unknown = Case();
  unknown.event_counts[2].min_bytes = unknown.event_counts[2].max_bytes = std::nullopt;
  EXPECT_EQ(Find(Judged(RunOf("a"), RunOf("b", {unknown})), "host-to-device").outcome, VerdictOutcome::kInconclusive);
}

TEST(JudgeRunTest, UnstableCountsAreComparedAsRanges) {
  BenchmarkResult unstable = Case();
  unstable.event_counts[1].max_count = 2;
  const Verdict suspect = Find(Judged(RunOf("a"), RunOf("b", {unstable})), "wait");
  EXPECT_EQ(suspect.outcome, VerdictOutcome::kSuspect);
  EXPECT_EQ(suspect.reason, "became-unstable: 0 -> 0 to 2");
  BenchmarkResult both = unstable;
  both.event_counts[1].max_count = 3;
  EXPECT_EQ(Find(Judged(RunOf("a", {unstable}), RunOf("b", {both})), "wait").reason,
            "ranges-overlap: 0 to 2 -> 0 to 3");
  both.event_counts[1].min_count = 3;
  EXPECT_EQ(Find(Judged(RunOf("a", {unstable}), RunOf("b", {both})), "wait").outcome, VerdictOutcome::kRegressed);
}

TEST(JudgeRunTest, AnotherEnvironmentIsInconclusive) {
  RunRecord candidate = RunOf("b", {WithWait(41)});
  candidate.info.environment.driver = "590.1";
  const JudgedRun judged = Judged(RunOf("a"), candidate);
  for (const Verdict& verdict : judged.judgement.verdicts) {
    EXPECT_EQ(verdict.outcome, VerdictOutcome::kInconclusive) << verdict.metric;
    EXPECT_THAT(verdict.reason, StartsWith("environment-differs: ")) << verdict.metric;
  }
  EXPECT_THAT(judged.notes,
              Contains("The environment differs: driver was 580.65.06, is 590.1; counts and times cannot be judged."));
  EXPECT_THAT(judged.differences, IsEmpty());
}

TEST(JudgeRunTest, WhatOnlyTimesDependOnLeavesCountsAlone) {
  RunRecord baseline = RunOf("a");
  baseline.info.hardware.power_limit_mw = 700'000;
  RunRecord candidate = RunOf("b", {WithWait(41)});
  candidate.info.hardware.power_limit_mw = 350'000;
  const JudgedRun judged = Judged(baseline, candidate);
  EXPECT_EQ(Find(judged, "wait").outcome, VerdictOutcome::kRegressed);
  EXPECT_THAT(Find(judged, "gpu_time_ns").reason, StartsWith("environment-differs: "));
}

TEST(JudgeRunTest, ASwitchThatIsSetOnOneSideDiffers) {
  RunRecord candidate = RunOf("b");
  candidate.info.environment.switches["CUDA_LAUNCH_BLOCKING"] = "1";
  const JudgedRun judged = Judged(RunOf("a"), candidate);
  EXPECT_THAT(judged.notes, Contains(HasSubstr("CUDA_LAUNCH_BLOCKING was not set, is 1")));
  EXPECT_EQ(Find(judged, "kernel").outcome, VerdictOutcome::kInconclusive);
}

TEST(JudgeRunTest, AnotherSliceOfTheSameGpuIsAnotherEnvironment) {
  RunRecord baseline = RunOf("a");
  baseline.info.hardware.mig_profile = "1g.18gb";
  RunRecord candidate = RunOf("b");
  candidate.info.hardware.mig_profile = "3g.71gb";
  const JudgedRun judged = Judged(baseline, candidate);
  EXPECT_THAT(judged.notes, Contains(HasSubstr("mig_profile was 1g.18gb, is 3g.71gb; counts and times cannot")));
  EXPECT_EQ(Find(judged, "kernel").outcome, VerdictOutcome::kInconclusive);
}

TEST(JudgeRunTest, WhatNeitherSideRecordedIsTakenAsEqualAndTold) {
  EXPECT_THAT(Judged(RunOf("a"), RunOf("b")).notes,
              Contains(HasSubstr("taken as equal: build_flags, cpu_count, cpu_model, cublas")));
}

TEST(JudgeRunTest, WhatOneSideRecordedIsTakenAsEqualAndTold) {
  RunRecord baseline = RunOf("a");
  baseline.info.environment.cudnn = "9.14";
  baseline.info.environment.libtorch = "2.11.0+cu130";
  RunRecord candidate = RunOf("b");
  candidate.info.environment.libtorch = "2.11.0";
  const JudgedRun judged = Judged(baseline, candidate);
  EXPECT_EQ(Find(judged, "kernel").outcome, VerdictOutcome::kPass);
  EXPECT_EQ(Find(judged, "gpu_time_ns").outcome, VerdictOutcome::kPass);
  EXPECT_THAT(judged.notes, Contains("Recorded on one side only and taken as equal: cudnn, libtorch_build."));
  candidate.info.environment.libtorch = "2.11.0+cpu";
  EXPECT_THAT(Judged(baseline, candidate).notes,
              Contains(HasSubstr("libtorch_build was cu130, is cpu; counts and times cannot")));
}

TEST(JudgeRunTest, TimesOfARunWithoutARecordingAreJudgedOnACpu) {
  RunRecord baseline = RunOf("a");
  baseline.info.hardware = {.cpu_model = "Some CPU", .cpu_count = 2, .gpu_count = 0};
  baseline.info.environment = {
      .cuda_runtime = "13", .libtorch = "2.11.0+cu130", .cudnn = "9", .cublas = "13", .build_flags = "-c opt"};
  RunRecord candidate = baseline;
  candidate.info.uuid = "b";
  candidate.info.environment = {.libtorch = "2.11.0", .build_flags = "-c opt"};
  const JudgedRun judged = Judged(baseline, candidate);
  EXPECT_EQ(Find(judged, "gpu_time_ns").outcome, VerdictOutcome::kPass);
  EXPECT_THAT(judged.notes, ElementsAre("Recorded on one side only and taken as equal: cublas, cuda_runtime, cudnn, "
                                        "libtorch_build."));
}

TEST(JudgeRunTest, WithoutAGpuWhatBelongsToOneIsKnown) {
  RunRecord baseline = RunOf("a");
  baseline.info.hardware = {.cpu_model = "Some CPU", .cpu_count = 2, .gpu_count = 0};
  baseline.info.environment = {.libtorch = "2.11.0", .build_flags = "-c opt"};
  RunRecord candidate = baseline;
  candidate.info.uuid = "b";
  EXPECT_THAT(Judged(baseline, candidate).notes, IsEmpty());
  candidate.info.hardware = {.cpu_model = "Some CPU", .cpu_count = 2, .gpu_name = "NVIDIA H200", .gpu_count = 1};
  EXPECT_THAT(Judged(baseline, candidate).notes, Contains(HasSubstr("gpu_name was none, is NVIDIA H200")));
}

TEST(JudgeRunTest, LostRecordsAndShortWindowsAreInconclusive) {
  BenchmarkResult lossy = WithWait(41);
  lossy.counts_complete = false;
  EXPECT_THAT(Find(Judged(RunOf("a"), RunOf("b", {lossy})), "wait").reason, StartsWith("data-lost: "));
  BenchmarkResult brief = WithWait(41);
  brief.iteration_count = 9;
  const Verdict counts = Find(Judged(RunOf("a"), RunOf("b", {brief})), "counts");
  EXPECT_EQ(counts.outcome, VerdictOutcome::kInconclusive);
  EXPECT_EQ(counts.reason, "window-too-short: baseline 20 iterations, now 9 iterations of at least 10");
}

TEST(JudgeRunTest, WhatOneSideHasNotRecordedIsNeitherNewNorGone) {
  BenchmarkResult unrecorded = WithWait(41);
  unrecorded.iteration_count = std::nullopt;
  unrecorded.counts_complete = std::nullopt;
  unrecorded.event_counts.clear();
  unrecorded.kernels.clear();
  unrecorded.sync_sites.clear();
  BenchmarkResult lossy = WithWait(41);
  lossy.counts_complete = false;
  lossy.kernels.clear();
  BenchmarkResult without_details = WithWait(41);
  without_details.kernels.clear();
  without_details.sync_sites.clear();
  for (const BenchmarkResult& result : {unrecorded, lossy, without_details}) {
    EXPECT_THAT(Judged(RunOf("a", {WithWait(41)}), RunOf("b", {result})).differences, IsEmpty());
    EXPECT_THAT(Judged(RunOf("a", {result}), RunOf("b", {WithWait(41)})).differences, IsEmpty());
  }
  EXPECT_THAT(Find(Judged(RunOf("a", {unrecorded}), RunOf("b")), "kernel").reason, StartsWith("not-recorded: "));
  BenchmarkResult without_waits = WithWait(41);
  without_waits.event_counts.erase(without_waits.event_counts.begin() + 1);
  without_waits.sync_sites.clear();
  without_waits.kernels.push_back({"other", "8x1x1", "128x1x1", 32, 0, 1, 1});
  const JudgedRun judged = Judged(RunOf("a", {without_waits}), RunOf("b", {WithWait(41)}));
  ASSERT_THAT(judged.differences, SizeIs(1)) << "both know their kernels";
  EXPECT_THAT(judged.differences[0].kernels.fallen, SizeIs(1));
  EXPECT_THAT(judged.differences[0].sites.risen, IsEmpty());
}

TEST(JudgeRunTest, ASlowerRunIsSuspectUntilItIsConfirmed) {
  BenchmarkResult slower = Case();
  slower.points = {TimePoint(1.1)};
  const RunRecord baseline = RunOf("a", {Case(), Case("same")});
  const RunRecord candidate = RunOf("b", {slower, Case("same")});
  const Verdict suspect = Find(Judged(baseline, candidate), "gpu_time_ns");
  EXPECT_EQ(suspect.outcome, VerdictOutcome::kSuspect);
  EXPECT_EQ(suspect.reason, "stored-runs-only: 100 us -> 110 us");
  EXPECT_NEAR(*suspect.effect_ratio, 1.1, 1e-3);
  EXPECT_EQ(suspect.run_round_count, 8);

  std::vector<std::string> asked;
  const auto confirm = [&](double scale) {
    return [&asked, scale](std::span<const std::string> benchmarks, int64_t rounds_a_side) {
      asked.assign(benchmarks.begin(), benchmarks.end());
      CaseRounds rounds;
      for (int64_t i = 0; i < rounds_a_side; ++i) {
        const double noise = static_cast<double>(i * 37 % 16) * 20;
        rounds.baseline.push_back({100'000 + noise, 1.7e9});
        rounds.candidate.push_back({scale * (100'000 + noise), 1.7e9});
      }
      return absl::StatusOr<std::vector<CaseRounds>>(std::vector<CaseRounds>{rounds});
    };
  };
  const Verdict regressed = Find(Judged(baseline, candidate, {.confirm = confirm(1.1)}), "gpu_time_ns");
  EXPECT_THAT(asked, ElementsAre(kCase));
  EXPECT_EQ(regressed.outcome, VerdictOutcome::kRegressed);
  EXPECT_THAT(regressed.reason, StartsWith("confirmed-slower: "));
  EXPECT_EQ(regressed.run_round_count, 16);
  EXPECT_GT(*regressed.interval_low_ratio, 1.09);
  EXPECT_TRUE(regressed.q_value.has_value());
  EXPECT_EQ(Find(Judged(baseline, candidate, {.confirm = confirm(1)}), "gpu_time_ns").outcome, VerdictOutcome::kPass);
}

TEST(JudgeRunTest, OtherTimesOfTheSameProgramPassAndOtherCountsDoNot) {
  BenchmarkResult slower = WithWait(41);
  slower.points = {TimePoint(1.1)};
  RunRecord candidate = RunOf("b", {slower});
  JudgedRun judged = Judged(RunOf("a"), candidate, {.is_same_program = true});
  EXPECT_EQ(Find(judged, "gpu_time_ns").outcome, VerdictOutcome::kPass);
  EXPECT_EQ(Find(judged, "gpu_time_ns").reason, "same-program: stored-runs-only: 100 us -> 110 us");
  EXPECT_EQ(Find(judged, "wait").outcome, VerdictOutcome::kRegressed);
  EXPECT_THAT(judged.notes, Contains(HasSubstr("the same program, and so the machine's: " + std::string(kCase))));

  RunRecord baseline = RunOf("a");
  baseline.info.hardware.power_limit_mw = 700'000;
  candidate.info.hardware.power_limit_mw = 350'000;
  judged = Judged(baseline, candidate, {.is_same_program = true});
  EXPECT_EQ(Find(judged, "gpu_time_ns").outcome, VerdictOutcome::kInconclusive) << "another environment";
}

TEST(JudgeRunTest, ACaseThatSomeRoundsLackSaysHowManyItHas) {
  BenchmarkResult once = Case();
  std::erase_if(once.points[0].samples, [](const store::Sample& sample) { return sample.round > 0; });
  EXPECT_EQ(Find(Judged(RunOf("a"), RunOf("b", {once})), "gpu_time_ns").reason,
            "too-few-rounds: 100 us -> 100 us; 8 and 1 rounds, needs 8 a side");
}

TEST(JudgeRunTest, ACaseTooShortForTheClockLeavesTheOthersTheirVerdicts) {
  BenchmarkResult none = Case("layer/none"), brief = Case("layer/brief");
  for (store::Sample& sample : none.points[0].samples) sample.value = 0;
  for (store::Sample& sample : brief.points[0].samples) sample.value = 4;
  const JudgedRun judged = Judged(RunOf("a", {Case(), none, brief}), RunOf("b", {Case(), none, brief}));
  EXPECT_EQ(Find(judged, "gpu_time_ns").outcome, VerdictOutcome::kPass);
  EXPECT_EQ(Find(judged, "gpu_time_ns", "layer/none").outcome, VerdictOutcome::kInconclusive);
  EXPECT_EQ(Find(judged, "gpu_time_ns", "layer/brief").reason, "clock-too-coarse: 4 ns -> 4 ns; known to 1 ns only");
}

TEST(JudgeRunTest, WhatInterleavedRoundsHaveSaidOfTheTwoRunsStands) {
  BenchmarkResult slower = Case();
  slower.points = {TimePoint(1.1)};
  const RunRecord baseline = RunOf("a"), candidate = RunOf("b", {slower});
  const auto confirm = [](std::span<const std::string>, int64_t rounds_a_side) {
    CaseRounds rounds;
    for (int64_t i = 0; i < rounds_a_side; ++i) {
      rounds.baseline.push_back({100'000 + static_cast<double>(i * 37 % 16) * 20, 1.7e9});
      rounds.candidate.push_back({110'000 + static_cast<double>(i * 37 % 16) * 20, 1.7e9});
    }
    return absl::StatusOr<std::vector<CaseRounds>>(std::vector<CaseRounds>{rounds});
  };
  store::Acknowledgement known;
  known.benchmark_pattern = "*";
  known.created_at_ns = kNowNs - 1;
  known.expires_at_ns = kNowNs + 1;
  const store::Judgement proven =
      Judged(baseline, candidate, {.confirm = confirm, .acknowledgements = std::span(&known, 1)}).judgement;
  const store::Judgement suspect = Judged(baseline, candidate).judgement;
  const auto again = [&](const std::vector<store::Judgement>& judgements, double budget_ratio = 0.005) {
    const std::vector<Verdict> confirmed = ConfirmedVerdicts(judgements, "a");
    JudgeRequest request = {.confirmed = confirmed};
    request.gate.time_budget_ratio = budget_ratio;
    return Judged(baseline, candidate, request);
  };
  const JudgedRun stands = again({suspect, proven});
  EXPECT_EQ(Find(stands, "gpu_time_ns").outcome, VerdictOutcome::kRegressed);
  EXPECT_THAT(Find(stands, "gpu_time_ns").reason, StartsWith("confirmed-slower: "));
  EXPECT_THAT(stands.notes, Contains(HasSubstr(std::string("earlier judgement of these two runs said: ") + kCase)));
  EXPECT_EQ(Find(again({suspect}), "gpu_time_ns").outcome, VerdictOutcome::kSuspect);
  EXPECT_EQ(Find(again({proven}, 0.0995), "gpu_time_ns").outcome, VerdictOutcome::kSuspect) << "not proven beyond that";
  store::Judgement other = proven;
  other.baseline_run_uuids = {"c"};
  EXPECT_THAT(ConfirmedVerdicts(std::vector{other}, "a"), IsEmpty());
  other = proven;
  other.rule_version = kGateRuleVersion - 1;
  EXPECT_THAT(ConfirmedVerdicts(std::vector{other}, "a"), IsEmpty());
}

TEST(JudgeRunTest, TheLastBudgetThatMatchesCounts) {
  BenchmarkResult slower = Case();
  slower.points = {TimePoint(1.1)};
  JudgeRequest request;
  request.gate.budgets = {{"*", 0.01}, {"layer_norm/*", 0.2}};
  EXPECT_EQ(Find(Judged(RunOf("a"), RunOf("b", {slower}), request), "gpu_time_ns").outcome, VerdictOutcome::kPass);
  request.gate.budgets.push_back({"*/forward", 0.05});
  EXPECT_EQ(Find(Judged(RunOf("a"), RunOf("b", {slower}), request), "gpu_time_ns").outcome, VerdictOutcome::kSuspect);
}

TEST(JudgeRunTest, AFailingCaseIsARegressionUnlessItFailedBefore) {
  BenchmarkResult failed = Case();
  failed.outcome = BenchmarkOutcome::kFailed;
  failed.message = "oracle: error 2.5 of 1";
  const Verdict now = Find(Judged(RunOf("a"), RunOf("b", {failed})), "outcome");
  EXPECT_EQ(now.outcome, VerdictOutcome::kRegressed);
  EXPECT_EQ(now.reason, "case-failed: oracle: error 2.5 of 1");
  EXPECT_EQ(Find(Judged(RunOf("a", {failed}), RunOf("b", {failed})), "outcome").outcome, VerdictOutcome::kInconclusive);
  failed.name = "new";
  EXPECT_EQ(Find(Judged(RunOf("a"), RunOf("b", {Case(), failed})), "outcome", "new").outcome,
            VerdictOutcome::kRegressed);
}

TEST(JudgeRunTest, ACaseThatTheBaselineDidNotMeasureIsInconclusive) {
  BenchmarkResult unmeasured = Case();
  unmeasured.points.clear();
  unmeasured.outcome = BenchmarkOutcome::kFailed;
  unmeasured.message = "oracle: error 2.5 of 1";
  const JudgedRun judged = Judged(RunOf("a", {unmeasured}), RunOf("b"));
  EXPECT_EQ(Find(judged, "outcome").outcome, VerdictOutcome::kInconclusive);
  EXPECT_EQ(Find(judged, "outcome").reason, "baseline-not-measured: failed in the baseline: oracle: error 2.5 of 1");
  unmeasured.outcome = BenchmarkOutcome::kSkipped;
  EXPECT_EQ(Find(Judged(RunOf("a", {unmeasured}), RunOf("b")), "outcome").outcome, VerdictOutcome::kInconclusive);
}

TEST(JudgeRunTest, NoVerdictAtAllIsAnErrorAndNoPass) {
  BenchmarkResult skipped = Case();
  skipped.outcome = BenchmarkOutcome::kSkipped;
  BenchmarkResult empty;
  empty.suite = skipped.suite;
  empty.name = skipped.name;
  for (const BenchmarkResult& result : {skipped, empty}) {
    const RunRecord baseline = RunOf("a", {result});
    const RunRecord candidate = RunOf("b", {result});
    const absl::Status status = JudgeRun({.baseline = &baseline, .candidate = &candidate}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("nothing in common"));
  }
}

TEST(JudgeRunTest, CasesOfOneSideAreTold) {
  BenchmarkResult skipped = Case("skipped");
  skipped.outcome = BenchmarkOutcome::kSkipped;
  const JudgedRun judged =
      Judged(RunOf("a", {Case(), Case("gone"), Case("skipped")}), RunOf("b", {Case(), Case("new"), skipped}));
  EXPECT_EQ(Find(judged, "outcome", "gone").outcome, VerdictOutcome::kInconclusive);
  EXPECT_THAT(Find(judged, "outcome", "gone").reason, StartsWith("case-missing: "));
  EXPECT_THAT(Find(judged, "outcome", "skipped").reason, StartsWith("case-skipped: "));
  EXPECT_THAT(judged.notes, Contains("Not in the baseline, so not judged: new."));
  EXPECT_THAT(judged.notes, Contains("In the baseline but not in this run: gone."));
}

TEST(JudgeRunTest, NothingInCommonIsAnError) {
  const RunRecord baseline = RunOf("a", {Case("x")});
  RunRecord candidate = RunOf("b", {Case("y")});
  candidate.benchmarks[0].suite = "models";
  const absl::Status status = JudgeRun({.baseline = &baseline, .candidate = &candidate}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("none of its 1 cases is among the 1 of the baseline a"));
  EXPECT_THAT(status.message(), HasSubstr("(suites 'models' and 'bench')"));
  candidate.benchmarks[0].suite = "bench";
  const absl::Status renamed = JudgeRun({.baseline = &baseline, .candidate = &candidate}).status();
  EXPECT_THAT(renamed.message(),
              HasSubstr("of the baseline a though both are of the suite 'bench': they were renamed"));
  EXPECT_THAT(renamed.message(), Not(HasSubstr("the same suite")));
}

TEST(JudgeRunTest, ImpossibleCountsAreAnError) {
  BenchmarkResult bad = Case();
  bad.event_counts[0].min_count = 2;
  const RunRecord baseline = RunOf("a");
  const RunRecord candidate = RunOf("b", {bad});
  EXPECT_EQ(JudgeRun({.baseline = &baseline, .candidate = &candidate}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(JudgeRunTest, WhatIsAcknowledgedPassesUntilItExpires) {
  store::Acknowledgement known;
  known.benchmark_pattern = "bench/layer_norm/*";
  known.metric = "wait";
  known.reason = "needed until the next release";
  known.author = "ann";
  known.issue_url = "https://example.org/7";
  known.created_at_ns = kNowNs - 1;
  known.expires_at_ns = kNowNs + 1;
  const auto judged = [&](const store::Acknowledgement& acknowledgement) {
    return Judged(RunOf("a"), RunOf("b", {WithWait(41)}), {.acknowledgements = std::span(&acknowledgement, 1)});
  };
  const JudgedRun passed = judged(known);
  EXPECT_EQ(Find(passed, "wait").outcome, VerdictOutcome::kPass);
  EXPECT_EQ(Find(passed, "wait").reason, "acknowledged: count-rose: 0 -> 1");
  EXPECT_THAT(passed.notes, Contains(HasSubstr("by ann: needed until the next release (https://example.org/7)")));
  store::Acknowledgement expired = known;
  expired.expires_at_ns = kNowNs;
  EXPECT_EQ(Find(judged(expired), "wait").outcome, VerdictOutcome::kRegressed);
  store::Acknowledgement of_kernels = known;
  of_kernels.metric = "kernel";
  EXPECT_EQ(Find(judged(of_kernels), "wait").outcome, VerdictOutcome::kRegressed);
  store::Acknowledgement of_others = known;
  of_others.benchmark_pattern = "layer_norm/*";
  EXPECT_EQ(Find(judged(of_others), "wait").outcome, VerdictOutcome::kRegressed);
}

TEST(JudgeRunTest, AJudgementIsKeptOnce) {
  const stallhound::testing::TempDir folder;
  const auto history = store::OpenHistory(folder.File("history.db"), {}).value();
  const RunRecord baseline = RunOf("a");
  const RunRecord candidate = RunOf("b", {WithWait(41)});
  ASSERT_TRUE(history->AppendRun(baseline).ok());
  ASSERT_TRUE(history->AppendRun(candidate).ok());
  JudgeRequest request = {.baseline = &baseline, .candidate = &candidate, .judged_at_ns = 1};
  const store::Judgement first = JudgeRun(request)->judgement;
  request.judged_at_ns = 2;
  const store::Judgement later = JudgeRun(request)->judgement;
  EXPECT_NE(first.uuid, later.uuid);
  ASSERT_TRUE(KeepJudgement(first, *history).ok());
  ASSERT_TRUE(KeepJudgement(first, *history).ok());
  ASSERT_TRUE(KeepJudgement(later, *history).ok());
  EXPECT_THAT(*history->ReadJudgements("b"), ElementsAre(first));
  request.gate.time_budget_ratio = 0;
  request.baseline = &candidate;
  const store::Judgement other = JudgeRun(request)->judgement;
  ASSERT_TRUE(KeepJudgement(other, *history).ok());
  EXPECT_THAT(*history->ReadJudgements("b"), ElementsAre(other, first));
}

}  // namespace
}  // namespace stallhound::cli
