#include "capture/export/export.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <variant>

#include "capture/export/lanes.h"
#include "capture/testing/memory_capture.h"

namespace stallhound::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A process that launches a kernel, copies, and waits; 10 us apart, repeated.
class ExportTest : public ::testing::Test {
 protected:
  ExportTest() {
    capture_.Add(ProcessRow{.process_id = 0, .pid = 4711, .name = capture_.Intern("train")});
    capture_.Add(ThreadRow{.thread_id = 0, .process_id = 0, .tid = 4712, .name = capture_.Intern("main")});
    capture_.Add(DeviceRow{.device_id = 1, .name = capture_.Intern("Test GPU")});
    capture_.Add(KernelShapeRow{.kernel_shape_id = 5,
                                .name = capture_.Intern("add, \"fast\""),
                                .grid_x = 4,
                                .grid_y = 2,
                                .grid_z = 1,
                                .block_x = 128,
                                .block_y = 1,
                                .block_z = 1});
    capture_.Add(FrameRow{.frame_id = 3,
                          .kind = FrameKind::kPython,
                          .function = capture_.Intern("step"),
                          .file = capture_.Intern("train.py"),
                          .line = 12,
                          .is_user = true});
    capture_.Add(StackFrameRow{.stack_id = 9, .depth = 0, .frame_id = 3});
  }

  void AddStep(int64_t start_ns, uint64_t correlation) {
    Call("cudaLaunchKernel", ApiClass::kKernelLaunch, start_ns, start_ns + 2000, correlation);
    capture_.Add(KernelRow{.start_ns = start_ns + 3000,
                           .end_ns = start_ns + 8000,
                           .device_id = 1,
                           .stream_id = 7,
                           .kernel_shape_id = 5,
                           .correlation_id = correlation});
    Call("cudaStreamSynchronize", ApiClass::kStreamSync, start_ns + 2500, start_ns + 9000, correlation + 1);
    capture_.Add(CopyRow{.start_ns = start_ns + 8000,
                         .end_ns = start_ns + 8500,
                         .device_id = 1,
                         .stream_id = 7,
                         .direction = CopyDirection::kDeviceToHost,
                         .source_kind = MemoryKind::kDevice,
                         .target_kind = MemoryKind::kPageable,
                         .bytes = 8});
  }

  void Call(const char* api, ApiClass api_class, int64_t start_ns, int64_t end_ns, uint64_t correlation) {
    capture_.Add(HostCallRow{.start_ns = start_ns,
                             .end_ns = end_ns,
                             .api = capture_.Intern(api),
                             .api_class = api_class,
                             .correlation_id = correlation,
                             .stack_id = 9});
  }

  std::string Write(const ExportOptions& options) {
    std::string file;
    const absl::StatusOr<ExportSummary> summary = Export(capture_, options, [&](std::string_view piece) {
      file += piece;
      return absl::OkStatus();
    });
    EXPECT_TRUE(summary.ok()) << summary.status();
    if (summary.ok()) {
      summary_ = *summary;
      EXPECT_EQ(summary_.byte_count, file.size());
    }
    return file;
  }

  MemoryCapture capture_;
  ExportSummary summary_;
};

// One level of a protobuf message: field -> values in order.
struct Message {
  std::map<uint32_t, std::vector<std::variant<uint64_t, std::string>>> fields;
  uint64_t Number(uint32_t field) const {
    const auto it = fields.find(field);
    return it != fields.end() ? std::get<uint64_t>(it->second.front()) : 0;
  }
  std::string Text(uint32_t field) const {
    const auto it = fields.find(field);
    return it != fields.end() ? std::get<std::string>(it->second.front()) : "";
  }
};

Message Parse(std::string_view bytes) {
  Message message;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < bytes.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.size()) {
    const uint64_t tag = varint();
    const auto field = static_cast<uint32_t>(tag >> 3);
    if ((tag & 7) == 0) {
      message.fields[field].emplace_back(varint());
    } else if ((tag & 7) == 1) {
      uint64_t value = 0;
      for (int i = 0; i < 8; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[at++])} << (8 * i);
      message.fields[field].emplace_back(value);
    } else {
      EXPECT_EQ(tag & 7, 2u);
      const uint64_t size = varint();
      message.fields[field].emplace_back(std::string(bytes.substr(at, size)));
      at += size;
    }
  }
  return message;
}

// What a viewer shows of a Perfetto file.
struct Shown {
  std::map<uint64_t, std::string> tracks;
  struct Slice {
    std::string track, name, category;
    uint64_t start = 0, end = 0, flow = 0, terminating_flow = 0;
    std::map<std::string, std::string> annotations;
  };
  std::vector<Slice> slices;
};

Shown Show(const std::string& file) {
  Shown shown;
  std::map<uint64_t, std::string> dictionaries[4];
  std::map<uint64_t, std::vector<size_t>> open;
  const Message trace = Parse(file);
  for (const auto& field : trace.fields.at(1)) {
    const Message packet = Parse(std::get<std::string>(field));
    const uint64_t time = packet.Number(8);
    if (packet.fields.contains(60)) {
      const Message track = Parse(packet.Text(60));
      shown.tracks[track.Number(1)] = track.fields.contains(3) ? Parse(track.Text(3)).Text(6) : track.Text(2);
    }
    if (packet.fields.contains(12)) {
      const Message data = Parse(packet.Text(12));
      for (const auto& [dictionary, entries] : data.fields) {
        for (const auto& entry : entries) {
          const Message pair = Parse(std::get<std::string>(entry));
          dictionaries[dictionary][pair.Number(1)] = pair.Text(2);
        }
      }
    }
    if (!packet.fields.contains(11)) continue;
    const Message event = Parse(packet.Text(11));
    const uint64_t track = event.Number(11);
    if (event.Number(9) == 1) {
      Shown::Slice slice{.track = shown.tracks.at(track),
                         .name = dictionaries[2].at(event.Number(10)),
                         .category = dictionaries[1].at(event.Number(3)),
                         .start = time,
                         .flow = event.Number(47),
                         .terminating_flow = event.Number(48)};
      if (event.fields.contains(4)) {
        for (const auto& entry : event.fields.at(4)) {
          const Message annotation = Parse(std::get<std::string>(entry));
          slice.annotations[dictionaries[3].at(annotation.Number(1))] =
              annotation.fields.contains(6) ? annotation.Text(6) : fmt::format("{}", annotation.Number(4));
        }
      }
      open[track].push_back(shown.slices.size());
      shown.slices.push_back(slice);
    } else {
      shown.slices[open[track].back()].end = time;
      open[track].pop_back();
    }
  }
  return shown;
}

const Shown::Slice* Find(const Shown& shown, std::string_view name) {
  for (const Shown::Slice& slice : shown.slices) {
    if (slice.name == name) return &slice;
  }
  return nullptr;
}

TEST_F(ExportTest, PerfettoHasTracksSlicesAndFlows) {
  AddStep(1000, 50);
  const Shown shown = Show(Write({}));
  ASSERT_EQ(shown.slices.size(), 4u);
  EXPECT_EQ(summary_.slice_count, 4);
  const Shown::Slice* kernel = Find(shown, "add, \"fast\"");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->track, "stream 7: kernels");
  EXPECT_EQ(kernel->start, 4000u);
  EXPECT_EQ(kernel->end, 9000u);
  EXPECT_EQ(kernel->category, "kernel");
  EXPECT_EQ(kernel->annotations.at("grid"), "[4, 2, 1]");
  const Shown::Slice* launch = Find(shown, "cudaLaunchKernel");
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->track, "main (tid 4712): CUDA calls");
  EXPECT_NE(launch->flow, 0u);
  EXPECT_EQ(launch->flow, kernel->terminating_flow);
  const Shown::Slice* wait = Find(shown, "cudaStreamSynchronize");
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->flow, 0u) << "a wait has no work of its own";
  EXPECT_EQ(wait->annotations.at("line"), "train.py:12 step");
  EXPECT_NE(Find(shown, "Memcpy DtoH (Device -> Pageable)"), nullptr);
}

TEST_F(ExportTest, AnUnknownLineIsLeftOut) {
  FrameRow& frame = capture_.mutable_frame().front();
  frame.function = std::nullopt;
  frame.file = std::nullopt;
  frame.line = std::nullopt;
  AddStep(1000, 50);
  const Shown shown = Show(Write({}));
  const Shown::Slice* wait = Find(shown, "cudaStreamSynchronize");
  ASSERT_NE(wait, nullptr);
  EXPECT_FALSE(wait->annotations.contains("line"));
}

TEST_F(ExportTest, TracksThatAnAnalysisAddsComeAlong) {
  AddStep(1000, 50);
  ExportOptions options;
  options.extra_tracks.push_back({"host waits", {{3500, 10000, "train.py:12 step", {{"GPU idle", "1.5 us"}}}}});
  const Shown shown = Show(Write(options));
  const Shown::Slice* wait = Find(shown, "train.py:12 step");
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->track, "host waits");
  EXPECT_EQ(wait->category, "stallhound");
  EXPECT_EQ(wait->annotations.at("GPU idle"), "1.5 us");
}

TEST_F(ExportTest, AWindowKeepsWhatOverlapsItWhole) {
  for (int64_t i = 0; i < 100; ++i) AddStep(i * 10'000, 2 * static_cast<uint64_t>(i) + 1);
  capture_.Add(RangeRow{.start_ns = 0, .end_ns = 1'000'000, .name = capture_.Intern("epoch")});
  const size_t whole = Write({}).size();
  ExportOptions options;
  options.window = ExportWindow{500'000, 520'000};
  options.extra_tracks.push_back({"host waits", {{0, 5, "before", {}}, {505'000, 506'000, "inside", {}}}});
  const std::string file = Write(options);
  EXPECT_LT(file.size(), whole / 10);
  const Shown shown = Show(file);
  EXPECT_EQ(shown.slices.size(), 2u * 4 + 2);
  EXPECT_EQ(Find(shown, "before"), nullptr);
  const Shown::Slice* epoch = Find(shown, "epoch");
  ASSERT_NE(epoch, nullptr);
  EXPECT_EQ(epoch->end, 1'000'000u);
}

TEST_F(ExportTest, OverlappingRangesGoToTwoTracks) {
  for (int64_t i = 0; i < 2; ++i) {
    capture_.Add(RangeRow{.start_ns = i * 50,
                          .end_ns = 100 + i * 50,
                          .kind = RangeKind::kStartEnd,
                          .name = capture_.Intern(i == 0 ? "a" : "b")});
  }
  const Shown shown = Show(Write({}));
  EXPECT_EQ(Find(shown, "a")->track, "main (tid 4712): start-end ranges");
  EXPECT_EQ(Find(shown, "b")->track, "main (tid 4712): start-end ranges (2)");
}

TEST_F(ExportTest, OpenRangesEndWithTheCapture) {
  capture_.mutable_info().end_ns = 777;
  capture_.Add(RangeRow{.start_ns = 10, .name = capture_.Intern("open")});
  EXPECT_EQ(Find(Show(Write({})), "open")->end, 777u);
}

TEST_F(ExportTest, ChromeJsonHasTheCategoriesOfKineto) {
  AddStep(1000, 50);
  const std::string json = Write({.format = ExportFormat::kChrome});
  EXPECT_THAT(json, HasSubstr(R"("cat":"cuda_runtime")"));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"json("name":"Memcpy DtoH (Device -> Pageable)","pid":1,"tid":10000000,"cat":"gpu_memcpy","ts":9,"dur":0.5)json"));
  EXPECT_THAT(json, HasSubstr(R"("name":"add, \"fast\"")"));
  EXPECT_THAT(json, HasSubstr(R"("ph":"s","name":"ac2g")"));
  EXPECT_THAT(json, HasSubstr(R"("ph":"f","name":"ac2g")"));
  EXPECT_THAT(json, ::testing::EndsWith("]}"));
}

// Occurrences of `before` with the number that follows each.
std::multiset<std::string> NumbersBehind(const std::string& text, const std::string& before) {
  std::multiset<std::string> numbers;
  for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
    const size_t start = at + before.size();
    numbers.insert(text.substr(start, text.find_first_not_of("0123456789", start) - start));
  }
  return numbers;
}

TEST_F(ExportTest, ChromeJsonHasATidForEveryTrack) {
  AddStep(1000, 50);
  capture_.Add(RangeRow{.start_ns = 2000, .end_ns = 3000, .name = capture_.Intern("ends inside the launch")});
  capture_.Add(MemsetRow{.start_ns = 4500, .end_ns = 9200, .device_id = 1, .stream_id = 7, .bytes = 8});
  const std::string json = Write({.format = ExportFormat::kChrome});
  const auto host = NumbersBehind(json, R"("name":"thread_name","pid":4711,"tid":)");
  EXPECT_EQ(host.size(), 2u) << "calls and ranges";
  EXPECT_EQ(std::set<std::string>(host.begin(), host.end()).size(), host.size());
  EXPECT_EQ(host.count("4712"), 1u) << "calls keep their thread's";
  const auto gpu = NumbersBehind(json, R"("name":"thread_name","pid":1,"tid":)");
  EXPECT_EQ(gpu.size(), 3u) << "kernels, copies, memsets";
  EXPECT_EQ(std::set<std::string>(gpu.begin(), gpu.end()).size(), gpu.size());
  EXPECT_EQ(gpu.count("7"), 1u) << "kernels keep their stream's";
}

TEST_F(ExportTest, ACallInsideAnotherBeginsNoFlow) {
  AddStep(1000, 50);
  capture_.Add(HostCallRow{.start_ns = 1200,
                           .end_ns = 1800,
                           .api = capture_.Intern("cuLaunchKernel"),
                           .api_class = ApiClass::kKernelLaunch,
                           .layer = ApiLayer::kDriver,
                           .is_nested = true,
                           .correlation_id = 50});
  const std::string json = Write({.format = ExportFormat::kChrome});
  EXPECT_EQ(NumbersBehind(json, R"("ph":"s","name":"ac2g","pid":)").size(), 1u);
  EXPECT_EQ(NumbersBehind(json, R"("ph":"f","name":"ac2g","pid":)").size(), 1u);
}

TEST_F(ExportTest, CallsBeginNoFlowWhereTheGpuHasNoTimes) {
  AddStep(1000, 50);
  for (const std::string mode : {"", "light"}) {
    capture_.mutable_info().mode = mode;
    capture_.mutable_info().recorded.reset(static_cast<size_t>(Table::kKernel));
    const std::string json = Write({.format = ExportFormat::kChrome});
    EXPECT_EQ(NumbersBehind(json, R"("ph":"s","name":"ac2g","pid":)").size(), mode == "light" ? 0u : 1u);
  }
}

TEST_F(ExportTest, ACopyWithoutTimesOfTheGpuHasNoSlice) {
  Call("cudaMemcpyAsync", ApiClass::kCopyAsync, 1000, 2000, 50);
  capture_.Add(CopyRow{.start_ns = 1000, .device_id = 1, .stream_id = 7, .bytes = 8, .correlation_id = 50});
  Write({});
  EXPECT_EQ(summary_.slice_count, 1) << "its call's";
}

TEST_F(ExportTest, CsvIsOneLineASlice) {
  AddStep(1000, 50);
  const std::string csv = Write({.format = ExportFormat::kCsv});
  EXPECT_THAT(csv, ::testing::StartsWith("group,track,category,name,start_ns,duration_ns,arguments\r\n"));
  EXPECT_THAT(csv,
              HasSubstr("GPU 1: Test GPU,stream 7: kernels,kernel,\"add, \"\"fast\"\"\",4000,5000,\"grid=[4, 2, 1]; "));
  EXPECT_THAT(csv, HasSubstr("train,main (tid 4712): CUDA calls,cuda_runtime,cudaLaunchKernel,1000,2000,"));
}

TEST_F(ExportTest, AnEmptyRecordingIsAValidFile) {
  EXPECT_EQ(Write({.format = ExportFormat::kPerfetto}), "");
  EXPECT_THAT(Write({.format = ExportFormat::kChrome}), HasSubstr(R"("traceEvents":[]})"));
  EXPECT_EQ(Write({.format = ExportFormat::kCsv}), "group,track,category,name,start_ns,duration_ns,arguments\r\n");
}

TEST_F(ExportTest, AnErrorOfTheOutputEndsTheExport) {
  AddStep(1000, 50);
  const auto summary = Export(capture_, {}, [](std::string_view) { return absl::ResourceExhaustedError("disk full"); });
  EXPECT_EQ(summary.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(LanesTest, NestsAndFollows) {
  Lanes lanes;
  EXPECT_EQ(lanes.Place(0, 100), 0u);
  EXPECT_EQ(lanes.Place(10, 50), 0u);
  EXPECT_EQ(lanes.Place(20, 60), 1u) << "ends after the slice it begins in";
  EXPECT_EQ(lanes.Place(50, 100), 0u);
  EXPECT_EQ(lanes.Place(100, 200), 0u);
  EXPECT_EQ(lanes.Place(200, 200), 0u);
}

}  // namespace
}  // namespace stallhound::capture
