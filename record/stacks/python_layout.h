#pragma once

// Where CPython keeps what a stack needs, per version: byte offsets into its structs. 3.9 and 3.10 are public structs;
// 3.11 and 3.12 come from their internal headers (pycore_frame.h, cpython/code.h); from 3.13 on _PyRuntime publishes
// them in _Py_DebugOffsets (pycore_debug_offsets.h).

#include <cstdint>

namespace stallhound::record {

struct PythonLayout {
  // How the innermost frame is reached from the thread state.
  enum class Chain : uint8_t {
    kFrameObject,   // 3.9, 3.10: PyThreadState.frame, a PyFrameObject
    kCframe,        // 3.11, 3.12: PyThreadState.cframe, then its current_frame
    kCurrentFrame,  // 3.13 and later
  };

  uint32_t version;  // 0x030b: 3.11
  Chain chain;
  bool free_threaded;
  bool lasti_counts_units;  // 3.10: f_lasti counts two-byte instructions
  uint16_t thread_frame;    // frame, cframe or current_frame
  uint16_t cframe_frame;    // kCframe
  uint16_t frame_previous;
  uint16_t frame_code;            // f_code or f_executable (a tagged pointer from 3.14 on)
  uint16_t frame_instruction;     // f_lasti, prev_instr or instr_ptr
  uint16_t frame_owner;           // 0: frames have none
  uint16_t frame_bytecode_index;  // thread-local bytecode of free-threaded builds; 0: none
  uint16_t object_type;
  uint16_t code_file;
  uint16_t code_name;  // the qualified name where there is one
  uint16_t code_first_line;
  uint16_t code_table;
  uint16_t code_bytecode;        // co_code_adaptive; 0: f_lasti needs none
  uint16_t code_local_bytecode;  // co_tlbc; 0: none
  uint16_t size_field;           // ob_size of bytes and code objects
  uint16_t bytes_data;
  uint16_t text_length;
  uint16_t text_hash;
  uint16_t text_state;
  uint16_t ascii_data;    // characters of a compact ASCII string
  uint16_t compact_data;  // characters of any other compact string
};

// The layout of `version_hex` (PY_VERSION_HEX). `runtime` is the address of _PyRuntime, or of a copy of its start of at
// least kDebugOffsetsBytes; read from 3.13 on only. False: a version this table does not know, or offsets out of range.
bool FindPythonLayout(uint32_t version_hex, const void* runtime, PythonLayout& layout);

// What FindPythonLayout reads of `runtime` at most.
inline constexpr int kDebugOffsetsBytes = 88 * 8;

}  // namespace stallhound::record
