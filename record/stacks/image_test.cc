// Walks hand-built memory images: versions that no interpreter here has (3.14, 3.14t), and hostile memory.

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "record/stacks/code_table.h"
#include "record/stacks/python_layout.h"
#include "record/stacks/python_text.h"
#include "record/stacks/python_walk.h"
#include "record/stacks/stacks.h"

namespace stallhound::record {
namespace {

// Memory of zeroed 8-byte words that stays where it is.
class Image {
 public:
  Address Allocate(size_t bytes) {
    blocks_.emplace_back(bytes / 8 + 1, 0);
    return reinterpret_cast<Address>(blocks_.back().data());
  }
  template <typename T>
  static void Write(Address base, uint32_t offset, T value) {
    memcpy(reinterpret_cast<void*>(base + offset), &value, sizeof(value));
  }

 private:
  std::deque<std::vector<uint64_t>> blocks_;
};

// _Py_DebugOffsets as CPython 3.14 publishes it: (word, value).
using Words = std::vector<std::pair<int, uint64_t>>;
const Words kOffsets314 = {{26, 72}, {32, 8},   {33, 0}, {34, 56}, {36, 74}, {38, 0},  {40, 112}, {42, 128}, {43, 136},
                           {44, 68}, {48, 208}, {49, 0}, {51, 8},  {75, 16}, {76, 32}, {78, 32},  {79, 16},  {80, 40}};
const Words kOffsets314Free = {{26, 72},  {32, 8},   {33, 0},   {34, 56}, {36, 78},  {38, 72},
                               {40, 128}, {42, 144}, {43, 152}, {44, 84}, {48, 232}, {49, 224},
                               {51, 24},  {75, 32},  {76, 48},  {78, 48}, {79, 32},  {80, 56}};

std::vector<uint64_t> DebugOffsets(uint64_t version_hex, bool free_threaded, const Words& words) {
  std::vector<uint64_t> table(kDebugOffsetsBytes / 8, 0);
  memcpy(table.data(), "xdebugpy", 8);
  table[1] = version_hex;
  table[2] = free_threaded ? 1 : 0;
  for (const auto& [word, value] : words) table[static_cast<size_t>(word)] = value;
  return table;
}

class RecordingSink final : public StackSink {
 public:
  uint32_t AddString(const char* text, uint32_t bytes) override {
    strings.emplace_back(text, bytes);
    return static_cast<uint32_t>(strings.size());
  }
  uint32_t AddPythonCode(const PythonCode& code) override {
    if (is_full) return 0;
    codes.push_back(code);
    return static_cast<uint32_t>(codes.size());
  }
  uint32_t AddStack(const Stack& stack) override {
    stacks.emplace_back(stack.python, stack.python + stack.python_count);
    return static_cast<uint32_t>(stacks.size());
  }
  void CountLoss(capture::LossCounter counter) override { losses.push_back(counter); }
  uint64_t Generation() override { return generation; }

  bool is_full = false;
  uint64_t generation = 1;
  std::vector<std::string> strings;
  std::vector<PythonCode> codes;
  std::vector<std::vector<capture::spool::PythonFrame>> stacks;
  std::vector<capture::LossCounter> losses;
};

// Builds the objects of one interpreter in an image.
class FakePython {
 public:
  explicit FakePython(const PythonLayout& layout) : layout_(layout), code_type_(image_.Allocate(64)) {
    thread_state_ = image_.Allocate(1024);
  }

  Address Text(const std::string& ascii) {
    const Address text = image_.Allocate(128 + ascii.size());
    Image::Write<int64_t>(text, layout_.text_length, static_cast<int64_t>(ascii.size()));
    const uint32_t bits = 1u | 1u << 3 | 1u << 4;  // kind, compact, ascii
    const bool has_wide_state = layout_.free_threaded && layout_.version >= 0x030e;
    Image::Write<uint32_t>(text, layout_.text_state, has_wide_state ? bits << 8 | 1 : bits << 2);
    memcpy(reinterpret_cast<void*>(text + layout_.ascii_data), ascii.data(), ascii.size());
    return text;
  }
  Address Bytes(const std::string& content) {
    const Address bytes = image_.Allocate(128 + content.size());
    Image::Write<int64_t>(bytes, layout_.size_field, static_cast<int64_t>(content.size()));
    memcpy(reinterpret_cast<void*>(bytes + layout_.bytes_data), content.data(), content.size());
    return bytes;
  }
  Address Code(const std::string& file, const std::string& name, int32_t first_line, const std::string& table) {
    const Address code = image_.Allocate(1024);
    Image::Write(code, layout_.object_type, code_type_);
    Image::Write(code, layout_.code_file, Text(file));
    Image::Write(code, layout_.code_name, Text(name));
    Image::Write(code, layout_.code_first_line, first_line);
    Image::Write(code, layout_.code_table, Bytes(table));
    Image::Write<int64_t>(code, layout_.size_field, 100);  // instructions
    return code;
  }
  // A frame that runs `code` at byte `offset` of its shared instructions.
  Address Frame(Address code, int64_t offset, Address previous, uint8_t owner, Address tag) {
    const Address frame = image_.Allocate(256);
    Image::Write(frame, layout_.frame_code, code | tag);
    Image::Write(frame, layout_.frame_previous, previous);
    Image::Write(frame, layout_.frame_owner, owner);
    Image::Write(frame, layout_.frame_instruction, code + layout_.code_bytecode + static_cast<Address>(offset));
    return frame;
  }
  void Enter(Address frame) { Image::Write(thread_state_, layout_.thread_frame, frame); }
  WalkResult Walk(RawFrame* frames, int capacity) const {
    return WalkPythonFrames(layout_, thread_state_, code_type_, frames, capacity);
  }

  Image& image() { return image_; }
  const PythonLayout& layout() const { return layout_; }
  Address code_type() const { return code_type_; }
  Address thread_state() const { return thread_state_; }

 private:
  Image image_;
  PythonLayout layout_;
  Address code_type_;
  Address thread_state_;
};

PythonLayout Layout(uint32_t version_hex, bool free_threaded, const Words& words) {
  PythonLayout layout{};
  const auto table = DebugOffsets(version_hex, free_threaded, words);
  EXPECT_TRUE(FindPythonLayout(version_hex, table.data(), layout));
  return layout;
}

TEST(PythonLayoutTest, KnowsEachVersionAndNoOther) {
  PythonLayout layout{};
  for (uint32_t version : {0x03091200u, 0x030a0d00u, 0x030b0700u, 0x030c0100u}) {
    EXPECT_TRUE(FindPythonLayout(version, nullptr, layout));
    EXPECT_EQ(layout.version, version >> 16);
  }
  EXPECT_FALSE(FindPythonLayout(0x03080000, nullptr, layout));
  EXPECT_FALSE(FindPythonLayout(0x030f0000, DebugOffsets(0x030f0000, false, kOffsets314).data(), layout));
  EXPECT_FALSE(FindPythonLayout(0x030e0000, nullptr, layout));
}

TEST(PythonLayoutTest, RejectsPublishedOffsetsThatCannotBe) {
  PythonLayout layout{};
  auto table = DebugOffsets(0x030e06f0, false, kOffsets314);
  EXPECT_TRUE(FindPythonLayout(0x030e06f0, table.data(), layout));
  table[0] ^= 1;
  EXPECT_FALSE(FindPythonLayout(0x030e06f0, table.data(), layout)) << "cookie";
  table = DebugOffsets(0x030d0000, false, kOffsets314);
  EXPECT_FALSE(FindPythonLayout(0x030e06f0, table.data(), layout)) << "another version's table";
  table = DebugOffsets(0x030e06f0, false, kOffsets314);
  table[43] = 1 << 20;
  EXPECT_FALSE(FindPythonLayout(0x030e06f0, table.data(), layout)) << "offset out of range";
  table = DebugOffsets(0x030e06f0, false, {});
  EXPECT_FALSE(FindPythonLayout(0x030e06f0, table.data(), layout)) << "zeroes";
}

TEST(ImageTest, Walks314WithTaggedReferencesAndShims) {
  FakePython python(Layout(0x030e06f0, false, kOffsets314));
  const Address outer_code = python.Code("/a/outer.py", "outer", 1, "t");
  const Address inner_code = python.Code("/a/inner.py", "Inner.method", 10, "t");
  const Address outer = python.Frame(outer_code, 12, 0, 0, 1);
  const Address shim = python.Frame(python.image().Allocate(64), 0, outer, 3, 0);  // None behind it, no code
  const Address generator = python.Frame(inner_code, 0, shim, 1, 1);
  const Address sentinel = python.Frame(python.image().Allocate(64), 0, generator, 4, 0);
  python.Enter(sentinel);
  RawFrame frames[8];
  const WalkResult walk = python.Walk(frames, 8);
  ASSERT_EQ(walk.frame_count, 2);
  EXPECT_FALSE(walk.is_truncated);
  EXPECT_EQ(frames[0].code, inner_code);
  EXPECT_EQ(frames[0].instruction_offset, 0);
  EXPECT_EQ(frames[1].code, outer_code);
  EXPECT_EQ(frames[1].instruction_offset, 12);
}

TEST(ImageTest, FollowsThreadLocalBytecodeOfFreeThreadedBuilds) {
  FakePython python(Layout(0x030e06f0, true, kOffsets314Free));
  const PythonLayout& layout = python.layout();
  const Address code = python.Code("/a.py", "f", 1, "t");
  const Address copy = python.image().Allocate(256);
  const Address copies = python.image().Allocate(64);
  Image::Write<int64_t>(copies, 0, 2);
  Image::Write<Address>(copies, 8, code + layout.code_bytecode);
  Image::Write<Address>(copies, 16, copy);
  Image::Write(code, layout.code_local_bytecode, copies);
  const Address frame = python.Frame(code, 0, 0, 0, 5);
  Image::Write<int32_t>(frame, layout.frame_bytecode_index, 1);
  Image::Write<Address>(frame, layout.frame_instruction, copy + 20);
  python.Enter(frame);
  RawFrame frames[2];
  ASSERT_EQ(python.Walk(frames, 2).frame_count, 1);
  EXPECT_EQ(frames[0].instruction_offset, 20);

  Image::Write<int32_t>(frame, layout.frame_bytecode_index, 7);  // outside the array: the shared copy is assumed
  ASSERT_EQ(python.Walk(frames, 2).frame_count, 1);
  EXPECT_EQ(frames[0].instruction_offset, -1);
}

TEST(ImageTest, SurvivesHostileMemory) {
  FakePython python(Layout(0x030e06f0, false, kOffsets314));
  RawFrame frames[4];
  python.Enter(0);
  EXPECT_EQ(python.Walk(frames, 4).frame_count, 0);
  python.Enter(0x1234);  // misaligned, and below any object
  EXPECT_EQ(python.Walk(frames, 4).frame_count, 0);
  const Address no_code = python.Frame(python.image().Allocate(512), 0, 0, 0, 0);
  python.Enter(no_code);
  EXPECT_EQ(python.Walk(frames, 4).frame_count, 0);
  const Address code = python.Code("/a.py", "f", 1, "t");
  const Address looping = python.Frame(code, 0, 0, 0, 1);
  Image::Write(looping, python.layout().frame_previous, looping);
  python.Enter(looping);
  const WalkResult walk = python.Walk(frames, 4);
  EXPECT_EQ(walk.frame_count, 4);
  EXPECT_TRUE(walk.is_truncated);
  Image::Write<uint8_t>(looping, python.layout().frame_owner, 3);  // an endless chain of shims
  EXPECT_EQ(python.Walk(frames, 4).frame_count, 0);
}

TEST(PythonTextTest, EncodesEveryWidthAndCutsAtCharacters) {
  const PythonLayout layout = Layout(0x030e06f0, false, kOffsets314);
  Image image;
  auto make = [&](uint32_t kind, const void* data, size_t characters) {
    const Address text = image.Allocate(256);
    Image::Write<int64_t>(text, layout.text_length, static_cast<int64_t>(characters));
    Image::Write<uint32_t>(text, layout.text_state, (kind | 1u << 3) << 2);
    memcpy(reinterpret_cast<void*>(text + layout.compact_data), data, characters * kind);
    return text;
  };
  auto copy = [&](Address text, size_t capacity) {
    char out[64];
    return std::string(out, CopyPythonText(layout, text, out, capacity));
  };
  const uint8_t latin[] = {'a', 0xe9};
  const uint16_t wide[] = {'a', 0x4e2d, 0xd800};
  const uint32_t full[] = {0x1f600, 'z'};
  EXPECT_EQ(copy(make(1, latin, 2), 64), "a\xc3\xa9");
  EXPECT_EQ(copy(make(2, wide, 3), 64), "a\xe4\xb8\xad\xef\xbf\xbd") << "a lone surrogate becomes U+FFFD";
  EXPECT_EQ(copy(make(4, full, 2), 64), "\xf0\x9f\x98\x80z");
  EXPECT_EQ(copy(make(4, full, 2), 3), "");
  EXPECT_EQ(copy(make(1, latin, 2), 2), "a");
  const uint8_t odd[6] = {};
  const Address broken = make(3, odd, 2);
  EXPECT_EQ(copy(broken, 64), "");
  EXPECT_EQ(copy(0, 64), "");
  const Address negative = make(1, latin, 2);
  Image::Write<int64_t>(negative, layout.text_length, -5);
  EXPECT_EQ(copy(negative, 64), "");
}

FakePython* current_python = nullptr;
Address CurrentThreadState() { return current_python->thread_state(); }

class StackRecorderTest : public testing::Test {
 protected:
  StackRecorderTest() : python_(Layout(0x030e06f0, false, kOffsets314)), recorder_(sink_) {
    current_python = &python_;
    recorder_.UseRuntime(PythonRuntime::ForImage(python_.layout(), python_.code_type(), CurrentThreadState));
  }

  FakePython python_;
  RecordingSink sink_;
  StackRecorder recorder_;
};

TEST_F(StackRecorderTest, WritesAStackAndItsCodeOnce) {
  const Address code = python_.Code("/home/x/train.py", "Model.step", 7, "table");
  const Address frame = python_.Frame(code, 4, 0, 0, 0);
  python_.Enter(frame);
  const uint32_t id = recorder_.Take();
  EXPECT_NE(id, 0u);
  EXPECT_EQ(recorder_.Take(), id);
  EXPECT_EQ(sink_.stacks.size(), 1u);
  ASSERT_EQ(sink_.codes.size(), 1u);
  EXPECT_EQ(sink_.strings[sink_.codes[0].file - 1], "/home/x/train.py");
  EXPECT_EQ(sink_.strings[sink_.codes[0].name - 1], "Model.step");
  EXPECT_EQ(sink_.codes[0].first_line, 7);
  EXPECT_EQ(sink_.codes[0].python_version, 0x030eu);
  EXPECT_EQ(sink_.codes[0].table_bytes, 5u);
  EXPECT_EQ(sink_.stacks[0][0].instruction_offset, 4);
  EXPECT_TRUE(sink_.losses.empty());
}

TEST_F(StackRecorderTest, TellsANewCodeObjectAtAnOldAddress) {
  const Address code = python_.Code("/a.py", "f", 7, "table");
  python_.Enter(python_.Frame(code, 4, 0, 0, 0));
  const uint32_t first = recorder_.Take();
  // Everything but the content of the line table is as it was, pointers included.
  const Address table = ReadAt<Address>(code, python_.layout().code_table);
  memcpy(reinterpret_cast<void*>(table + python_.layout().bytes_data), "taBle", 5);
  const uint32_t second = recorder_.Take();
  EXPECT_NE(first, second);
  // The name's hash tells a string of the same length at the same address.
  const Address name = ReadAt<Address>(code, python_.layout().code_name);
  Image::Write<int64_t>(name, python_.layout().text_hash, 99);
  *reinterpret_cast<char*>(name + python_.layout().ascii_data) = 'g';
  EXPECT_NE(recorder_.Take(), second);
  EXPECT_EQ(sink_.codes.size(), 3u);
}

TEST_F(StackRecorderTest, KnowsEqualCodeAtAnotherAddress) {
  python_.Enter(python_.Frame(python_.Code("/a.py", "f", 7, "table"), 4, 0, 0, 0));
  const uint32_t first = recorder_.Take();
  python_.Enter(python_.Frame(python_.Code("/a.py", "f", 7, "table"), 4, 0, 0, 0));
  EXPECT_EQ(recorder_.Take(), first);
  EXPECT_EQ(sink_.codes.size(), 1u);
}

TEST_F(StackRecorderTest, KeepsTheInnermostOfADeepStackAndCountsIt) {
  const Address code = python_.Code("/a.py", "f", 1, "t");
  Address frame = 0;
  for (int i = 0; i < kMaxPythonFrames + 5; ++i) frame = python_.Frame(code, 2 * (i % 50), frame, 0, 0);
  python_.Enter(frame);
  EXPECT_NE(recorder_.Take(), 0u);
  EXPECT_EQ(sink_.stacks[0].size(), static_cast<size_t>(kMaxPythonFrames));
  EXPECT_EQ(sink_.losses, std::vector{capture::LossCounter::kStackTruncated});
}

TEST_F(StackRecorderTest, FallsBackToTheNativeStack) {
  python_.Enter(0);
  EXPECT_NE(recorder_.Take(), 0u);
  EXPECT_TRUE(sink_.stacks[0].empty());
}

TEST_F(StackRecorderTest, CountsWhatTheSpoolRefuses) {
  sink_.is_full = true;
  python_.Enter(python_.Frame(python_.Code("/a.py", "f", 1, "t"), 0, 0, 0, 0));
  recorder_.Take();
  EXPECT_EQ(sink_.losses, std::vector{capture::LossCounter::kStackTruncated});
}

TEST_F(StackRecorderTest, ForgetsItsIdsInAForkedChild) {
  python_.Enter(python_.Frame(python_.Code("/a.py", "f", 7, "table"), 4, 0, 0, 0));
  recorder_.Take();
  recorder_.ResetInChild();
  sink_.generation = 2;
  recorder_.Take();
  EXPECT_EQ(sink_.codes.size(), 2u);
  EXPECT_EQ(sink_.stacks.size(), 2u);
}

TEST_F(StackRecorderTest, TakesNothingWhileNothingIsRecorded) {
  sink_.generation = 0;
  python_.Enter(python_.Frame(python_.Code("/a.py", "f", 7, "table"), 4, 0, 0, 0));
  EXPECT_EQ(recorder_.Take(), 0u);
  EXPECT_TRUE(sink_.strings.empty());
  EXPECT_TRUE(sink_.losses.empty());
}

TEST(PythonRuntimeTest, ParsesVersions) {
  EXPECT_EQ(ParsePythonVersion("3.11.7 (main, Dec  8 2023)"), 0x030b0700u);
  EXPECT_EQ(ParsePythonVersion("3.9.18+"), 0x03091200u);
  EXPECT_EQ(ParsePythonVersion("3.x"), 0u);
  EXPECT_EQ(ParsePythonVersion(""), 0u);
  EXPECT_EQ(ParsePythonVersion("3.99999.1"), 0u);
}

TEST(PythonRuntimeTest, FindsNoneInThisProcess) {
  EXPECT_EQ(PythonRuntime::Detect().kind(), PythonRuntime::Kind::kNone);
}

}  // namespace
}  // namespace stallhound::record
