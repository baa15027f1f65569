// Shows a function too many, lacks one, and throws, which needs the C++ library.
#include <stdexcept>

extern "C" int InitializeInjection() { return 1; }
extern "C" int InitializeInjectionNvtx2(void*) { return 1; }
extern "C" int stallhound_window_start(const char*) { return 0; }
extern "C" int Leaked() { throw std::runtime_error("leaked"); }
