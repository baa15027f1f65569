#include "record/stacks/python_layout.h"

#include <cstring>

namespace stallhound::record {
namespace {

using Chain = PythonLayout::Chain;

constexpr uint32_t Version(uint32_t minor) { return 0x0300u | minor; }

constexpr PythonLayout kFixedLayouts[] = {
    {.version = Version(9),
     .chain = Chain::kFrameObject,
     .thread_frame = 24,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_instruction = 104,
     .object_type = 8,
     .code_file = 104,
     .code_name = 112,
     .code_first_line = 40,
     .code_table = 120,
     .size_field = 16,
     .bytes_data = 32,
     .text_length = 16,
     .text_hash = 24,
     .text_state = 32,
     .ascii_data = 48,
     .compact_data = 72},
    {.version = Version(10),
     .chain = Chain::kFrameObject,
     .lasti_counts_units = true,
     .thread_frame = 24,
     .frame_previous = 24,
     .frame_code = 32,
     .frame_instruction = 96,
     .object_type = 8,
     .code_file = 104,
     .code_name = 112,
     .code_first_line = 40,
     .code_table = 120,
     .size_field = 16,
     .bytes_data = 32,
     .text_length = 16,
     .text_hash = 24,
     .text_state = 32,
     .ascii_data = 48,
     .compact_data = 72},
    {.version = Version(11),
     .chain = Chain::kCframe,
     .thread_frame = 56,
     .cframe_frame = 8,
     .frame_previous = 48,
     .frame_code = 32,
     .frame_instruction = 56,
     .frame_owner = 69,
     .object_type = 8,
     .code_file = 112,
     .code_name = 128,
     .code_first_line = 72,
     .code_table = 136,
     .code_bytecode = 184,
     .size_field = 16,
     .bytes_data = 32,
     .text_length = 16,
     .text_hash = 24,
     .text_state = 32,
     .ascii_data = 48,
     .compact_data = 72},
    {.version = Version(12),
     .chain = Chain::kCframe,
     .thread_frame = 56,
     .cframe_frame = 0,
     .frame_previous = 8,
     .frame_code = 0,
     .frame_instruction = 56,
     .frame_owner = 70,
     .object_type = 8,
     .code_file = 112,
     .code_name = 128,
     .code_first_line = 68,
     .code_table = 136,
     .code_bytecode = 192,
     .size_field = 16,
     .bytes_data = 32,
     .text_length = 16,
     .text_hash = 24,
     .text_state = 32,
     .ascii_data = 40,
     .compact_data = 56},
};

// Positions of the fields in _Py_DebugOffsets, in 8-byte words; its version and free_threaded are words 1 and 2 in all.
struct DebugOffsetWords {
  uint32_t version;
  int current_frame;
  int frame_previous;
  int frame_executable;
  int frame_instruction;
  int frame_owner;
  int frame_bytecode_index;
  int code_file;
  int code_qualified_name;
  int code_table;
  int code_first_line;
  int code_bytecode;
  int code_local_bytecode;
  int object_type;
  int bytes_size;
  int bytes_data;
  int text_state;
  int text_length;
  int ascii_bytes;
};

constexpr int kAbsent = -1;
constexpr DebugOffsetWords kDebugOffsetWords[] = {
    {Version(13), 23, 29, 30, 31, 33, kAbsent, 35, 37, 38, 39, 43, kAbsent, 45, 65, 66, 68, 69, 70},
    {Version(14), 26, 32, 33, 34, 36, 38, 40, 42, 43, 44, 48, 49, 51, 75, 76, 78, 79, 80},
};
constexpr char kCookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
constexpr uint64_t kMaxOffset = 4096;

bool ReadPublished(const DebugOffsetWords& words, uint32_t version_hex, const void* runtime, PythonLayout& layout) {
  uint64_t table[kDebugOffsetsBytes / 8];
  memcpy(table, runtime, sizeof(table));
  if (memcmp(table, kCookie, sizeof(kCookie)) != 0 || (table[1] >> 16) != (version_hex >> 16)) return false;
  bool in_range = true;
  auto get = [&](int word) -> uint16_t {
    if (word == kAbsent) return 0;
    if (table[word] >= kMaxOffset) in_range = false;
    return static_cast<uint16_t>(table[word]);
  };
  layout = {};
  layout.version = words.version;
  layout.chain = Chain::kCurrentFrame;
  layout.free_threaded = table[2] != 0;
  layout.thread_frame = get(words.current_frame);
  layout.frame_previous = get(words.frame_previous);
  layout.frame_code = get(words.frame_executable);
  layout.frame_instruction = get(words.frame_instruction);
  layout.frame_owner = get(words.frame_owner);
  layout.frame_bytecode_index = get(words.frame_bytecode_index);
  layout.object_type = get(words.object_type);
  layout.code_file = get(words.code_file);
  layout.code_name = get(words.code_qualified_name);
  layout.code_first_line = get(words.code_first_line);
  layout.code_table = get(words.code_table);
  layout.code_bytecode = get(words.code_bytecode);
  layout.code_local_bytecode = get(words.code_local_bytecode);
  layout.size_field = get(words.bytes_size);
  layout.bytes_data = get(words.bytes_data);
  layout.text_length = get(words.text_length);
  layout.text_hash = static_cast<uint16_t>(layout.text_length + 8);
  layout.text_state = get(words.text_state);
  layout.ascii_data = get(words.ascii_bytes);
  layout.compact_data = static_cast<uint16_t>(layout.ascii_data + 16);  // utf8_length and utf8
  // A table of another shape shows as zeroes where a struct can have none.
  return in_range && layout.thread_frame != 0 && layout.frame_previous != 0 && layout.frame_owner != 0 &&
         layout.code_file != 0 && layout.code_table != 0 && layout.code_bytecode != 0 && layout.object_type != 0 &&
         layout.bytes_data != 0 && layout.ascii_data > layout.text_state;
}

}  // namespace

bool FindPythonLayout(uint32_t version_hex, const void* runtime, PythonLayout& layout) {
  const uint32_t version = version_hex >> 16;
  for (const PythonLayout& known : kFixedLayouts) {
    if (known.version != version) continue;
    layout = known;
    return true;
  }
  for (const DebugOffsetWords& words : kDebugOffsetWords) {
    if (words.version == version && runtime != nullptr) return ReadPublished(words, version_hex, runtime, layout);
  }
  return false;
}

}  // namespace stallhound::record
