#include "record/stacks/python_walk.h"

namespace stallhound::record {
namespace {

// Owners from this one on are shims between C and Python frames: they carry no code of the program.
constexpr uint8_t kFirstShimOwner = 3;
// Shims hold no place in `frames`; this bounds a chain that never ends.
constexpr int kMaxSteps = 4096;

Address InnermostFrame(const PythonLayout& layout, Address thread_state) {
  const Address first = ReadAt<Address>(thread_state, layout.thread_frame);
  if (layout.chain != PythonLayout::Chain::kCframe) return first;
  return IsPlausible(first) ? ReadAt<Address>(first, layout.cframe_frame) : 0;
}

// First byte of the instructions that `frame` runs. Free-threaded builds give threads their own copies.
Address FirstInstruction(const PythonLayout& layout, Address frame, Address code) {
  const Address shared = code + layout.code_bytecode;
  if (!layout.free_threaded || layout.code_local_bytecode == 0) return shared;
  const Address copies = ReadAt<Address>(code, layout.code_local_bytecode);
  const int64_t index = ReadAt<int32_t>(frame, layout.frame_bytecode_index);
  if (!IsPlausible(copies) || index < 0 || index >= ReadAt<int64_t>(copies, 0)) return shared;
  const Address copy = ReadAt<Address>(copies, 8 + 8 * static_cast<uint32_t>(index));
  return copy != 0 ? copy : shared;
}

int32_t InstructionOffset(const PythonLayout& layout, Address frame, Address code) {
  if (layout.chain == PythonLayout::Chain::kFrameObject) {
    const int32_t last = ReadAt<int32_t>(frame, layout.frame_instruction);
    if (last < 0) return -1;
    return layout.lasti_counts_units ? last * 2 : last;
  }
  // prev_instr (3.11, 3.12) lies within the executing instruction or its caches, instr_ptr at its start: the location
  // table covers both.
  const Address instruction = ReadAt<Address>(frame, layout.frame_instruction);
  const Address first = FirstInstruction(layout, frame, code);
  const int64_t offset = static_cast<int64_t>(instruction - first);
  const int64_t code_bytes = 2 * ReadAt<int64_t>(code, layout.size_field);
  return offset >= 0 && offset < code_bytes ? static_cast<int32_t>(offset) : -1;
}

}  // namespace

WalkResult WalkPythonFrames(const PythonLayout& layout, Address thread_state, Address code_type, RawFrame* frames,
                            int capacity) {
  WalkResult result{};
  Address frame = InnermostFrame(layout, thread_state);
  for (int step = 0; step < kMaxSteps && IsPlausible(frame); ++step) {
    const bool is_shim = layout.frame_owner != 0 && ReadAt<uint8_t>(frame, layout.frame_owner) >= kFirstShimOwner;
    if (!is_shim) {
      const Address code = Untag(ReadAt<Address>(frame, layout.frame_code));
      if (!IsPlausible(code) || ReadAt<Address>(code, layout.object_type) != code_type) break;
      if (result.frame_count == capacity) {
        result.is_truncated = true;
        break;
      }
      frames[result.frame_count++] = {code, InstructionOffset(layout, frame, code)};
    }
    frame = ReadAt<Address>(frame, layout.frame_previous);
  }
  return result;
}

}  // namespace stallhound::record
