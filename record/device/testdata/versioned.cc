// Stands for a CUDA library under several names in device_recorder_test.

#include <cstddef>

extern "C" size_t cudnnGetVersion() { return 91402; }
