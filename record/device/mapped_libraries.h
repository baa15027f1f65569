#pragma once

// Versions of the libraries that decide how fast a CUDA program is, as mapped in this process.

namespace stallhound::record {

// Calls visit(context, name, version) for each that is mapped and whose version can be told: by the library's own
// version function where that is a pure one, else by the digits behind ".so." of its file, for torch by the version
// file beside it. Name as in device_recorder.h.
void VisitMappedLibraries(void (*visit)(void* context, const char* name, const char* version), void* context);

}  // namespace stallhound::record
