#pragma once

// The NVTX v3 tool interface. The first NVTX call of every shared object that contains NVTX loads the library named by
// NVTX_INJECTION64_PATH and calls its InitializeInjectionNvtx2 with that object's export table: so it runs many times,
// from several threads.

#include "record/nvtx/nvtx_recorder.h"

namespace stallhound::record {

// The instance that callbacks write to, of all modules that were or will be injected; nullptr: NVTX calls do nothing.
// It must live as long as the process, or until it was replaced and no call can be inside it.
void SetNvtxRecorder(NvtxRecorder* recorder);

// Points the callbacks of one module at the recorder. `get_export_table` is what InitializeInjectionNvtx2 was given.
// 1: done; 0: the module's table is not one of NVTX v3, and stays as it was.
int InjectNvtx(void* get_export_table);

}  // namespace stallhound::record
