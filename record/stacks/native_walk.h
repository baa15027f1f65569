#pragma once

// The calling thread's native frames, by the unwind tables (libgcc's unwinder): works without frame pointers, costs
// about a microsecond per frame, so it is for threads without Python frames. Takes the loader's list lock for reading,
// which no constructor or CUDA call runs under; allocates nothing after PrimeNativeWalk.

#include <cstdint>

namespace stallhound::record {

// Lets the unwinder set itself up outside any callback, and finds the modules whose frames are left out. Call it again
// after libraries were loaded.
void PrimeNativeWalk();

// How many modules the loader has mapped in this process so far.
unsigned long long CountMappedModules();

// Writes return addresses, innermost first, at most `capacity`; frames of the module that holds this code and of
// libcupti at the top are left out. `is_truncated` tells whether there were more.
int WalkNativeFrames(uint64_t* addresses, int capacity, bool& is_truncated);

}  // namespace stallhound::record
