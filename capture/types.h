#pragma once

// Enumerations of the capture schema (capture/schema.h). Values are stored in files: never renumber, only append.

#include <cstdint>

namespace stallhound::capture {

// An interned string: an index into the StringTable of one capture.
enum class StringId : uint32_t {};

enum class ApiLayer : uint8_t { kRuntime = 0, kDriver = 1 };

// Numbered as CUpti_ActivityMemoryKind.
enum class MemoryKind : uint8_t {
  kUnknown = 0,
  kPageable = 1,
  kPinned = 2,
  kDevice = 3,
  kArray = 4,
  kManaged = 5,
  kDeviceStatic = 6,
  kManagedStatic = 7,
};

// Numbered as CUpti_ActivityMemcpyKind.
enum class CopyDirection : uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kHostToArray = 3,
  kArrayToHost = 4,
  kArrayToArray = 5,
  kArrayToDevice = 6,
  kDeviceToArray = 7,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeerToPeer = 10,
};

// Numbered as CUpti_ActivitySynchronizationType.
enum class SyncType : uint8_t {
  kUnknown = 0,
  kEventSynchronize = 1,
  kStreamWaitEvent = 2,
  kStreamSynchronize = 3,
  kContextSynchronize = 4,
};

// Numbered as CUpti_ActivityStreamFlag.
enum class StreamFlag : uint8_t {
  kUnknown = 0,
  kDefault = 1,
  kNonBlocking = 2,
  kNull = 3,
  kPerThread = 4,
};

enum class RangeKind : uint8_t {
  kPushPop = 0,        // nested per thread
  kStartEnd = 1,       // may overlap and end on another thread
  kMark = 2,           // an instant: end_ns = start_ns
  kOperator = 3,       // ATen operator
  kStep = 4,           // profiler step, iteration
  kAnnotation = 5,     // Kineto user annotation
  kPythonFunction = 6  // a call of a Python function, from with_stack traces
};

enum class FrameKind : uint8_t { kPython = 0, kNative = 1 };

enum class OverheadKind : uint8_t {
  kUnknown = 0,
  kDriverCompiler = 1,
  kBufferFlush = 2,
  kInstrumentation = 3,
  kResource = 4,
  kModuleLoading = 5,
  kLazyFunctionLoading = 6,
  kCommandBufferFull = 7,
  kActivityBufferRequest = 8,
  kUvmInit = 9,
};

}  // namespace stallhound::capture
