#pragma once

// Formats that are recognised and not imported: each says what the file is and what to do instead.

#include "capture/import/importer.h"

namespace stallhound::capture {

Importer NsysReportRefusal();      // .nsys-rep, .qdrep
Importer NvprofRefusal();          // nvprof and Visual Profiler databases
Importer ExecutionTraceRefusal();  // PyTorch execution traces (nodes)
Importer ChakraRefusal();          // Chakra workload graphs
Importer TritonServerRefusal();    // request traces of inference servers
Importer RocprofRefusal();         // rocprof, rocprofv3
Importer PackedRefusal();          // zip, xz, zstd, bzip2, 7z

}  // namespace stallhound::capture
