// What the recorder shows, and nothing else.
extern "C" int InitializeInjection() { return 1; }
extern "C" int InitializeInjectionNvtx2(void*) { return 1; }
extern "C" int stallhound_flush(long) { return 0; }
extern "C" void stallhound_range_end(unsigned long) {}
extern "C" unsigned long stallhound_range_start(const char*) { return 1; }
extern "C" int stallhound_window_start(const char*) { return 0; }
extern "C" int stallhound_window_stop() { return 0; }
