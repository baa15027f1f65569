#include <gtest/gtest.h>
#include <string.h>

#include <string>
#include <vector>

#include "base/testing/temp_dir.h"
#include "capture/spool/reader.h"
#include "capture/spool/writer.h"
#include "capture/symbolize/traced_calls.h"

namespace stallhound::capture::spool {
namespace {

constexpr char kTensorBody[] = "/opt/libtorch/include/ATen/core/TensorBody.h";

struct Frames : CaptureVisitor {
  using CaptureVisitor::On;
  absl::Status On(const FrameBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) frames.push_back(batch.Get(i));
    return absl::OkStatus();
  }
  absl::Status On(const StackFrameBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) stack_frames.push_back(batch.Get(i));
    return absl::OkStatus();
  }
  std::vector<FrameRow> frames;
  std::vector<StackFrameRow> stack_frames;
};

// Stacks of this executable's own addresses, through a spool and its reader.
class StackRowsTest : public ::testing::Test {
 protected:
  StackRowsTest() {
    WriterOptions options;
    options.directory = temp_.path().c_str();
    options.now_ns = [] { return int64_t{1'000'000'000}; };
    EXPECT_TRUE(writer_.Configure(options) && writer_.EnsureOpen());
    writer_.AddKeyValue(kProjectKey, "/srv/project");
  }

  void WriteModule(const std::string& path) {
    const Module module = OwnModule();
    ModuleRecord record{};
    record.path = writer_.InternString(path);
    record.build_id_bytes = static_cast<uint32_t>(module.build_id.size());
    memcpy(record.build_id, module.build_id.data(), module.build_id.size());
    record.begin = module.begin;
    record.end = module.end;
    record.load_bias = module.load_bias;
    writer_.AddDictionary(record);
  }

  // The frames of a stack of these addresses; their places as text in `places_`.
  std::vector<FrameRow> Resolve(const std::vector<uint64_t>& addresses) {
    StackRecord stack{};
    stack.native_count = static_cast<uint16_t>(addresses.size());
    writer_.Intern(stack, addresses.data(), addresses.size() * sizeof(uint64_t));
    auto reader = OpenSpools({writer_.path()});
    EXPECT_TRUE(reader.ok()) << reader.status();
    Frames rows;
    std::vector<FrameRow> frames;
    if (!reader.ok() || !(*reader)->Read(AllTables(), rows).ok()) return frames;
    const auto text = [&](std::optional<StringId> id) { return id ? std::string((*reader)->strings().Get(*id)) : "-"; };
    for (size_t i = 0; i < rows.stack_frames.size(); ++i) {
      EXPECT_EQ(rows.stack_frames[i].depth, i);
      const FrameRow& frame = frames.emplace_back(rows.frames.at(rows.stack_frames[i].frame_id));
      places_.push_back(text(frame.file) + ":" + (frame.line ? std::to_string(*frame.line) : "-") + " " +
                        text(frame.function));
      modules_.push_back(text(frame.module));
    }
    return frames;
  }

  testing::TempDir temp_;
  SpoolWriter writer_;
  std::vector<std::string> places_;
  std::vector<std::string> modules_;
};

TEST_F(StackRowsTest, AnInlinedLibraryFunctionLeavesTheLineThatCallsIt) {
  WriteModule(OwnModule().path);
  const std::vector<FrameRow> frames = Resolve({traced::Step(1), at::OutOfLine()});
  EXPECT_EQ(places_, (std::vector<std::string>{
                         std::string(kTensorBody) + ":4310 at::Item()",
                         "read.h:10 traced::(anonymous namespace)::Read",
                         "step.cc:20 traced::Step(int)",
                         std::string(kTensorBody) + ":4400 at::OutOfLine()",
                     }));
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_FALSE(frames[0].is_user);
  EXPECT_TRUE(frames[1].is_user);
  EXPECT_TRUE(frames[2].is_user);
  EXPECT_FALSE(frames[3].is_user) << "a function of LibTorch in the user's executable";
  for (const std::string& module : modules_) EXPECT_EQ(module, modules_[0]);
}

TEST_F(StackRowsTest, AUsersFunctionClaimsNoLineOfALibrary) {
  WriteModule(OwnModule().path);
  const std::vector<FrameRow> frames = Resolve({traced::StepWithForeignLine(1), traced::StepWithoutLines(1)});
  EXPECT_EQ(places_, (std::vector<std::string>{"step.cc:- traced::StepWithForeignLine(int)",
                                               "-:- traced::StepWithoutLines(int)"}));
  for (const FrameRow& frame : frames) {
    EXPECT_TRUE(frame.is_user);
    EXPECT_TRUE(frame.module_offset.has_value());
  }
}

TEST_F(StackRowsTest, AModuleThatIsGoneIsStillTheUsers) {
  WriteModule("/srv/project/gone");
  const std::vector<FrameRow> frames = Resolve({traced::Step(1)});
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(places_[0], "-:- -");
  EXPECT_EQ(modules_[0], "gone");
  EXPECT_TRUE(frames[0].is_user);
  EXPECT_TRUE(frames[0].module_offset.has_value());
}

}  // namespace
}  // namespace stallhound::capture::spool
