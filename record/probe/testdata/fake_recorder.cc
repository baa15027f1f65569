// A library that loads but is no recorder: it lacks the NVTX entry point.

extern "C" {

int InitializeInjection() { return 1; }
int stallhound_flush(long) { return -1; }
unsigned long stallhound_range_start(const char*) { return 0; }
void stallhound_range_end(unsigned long) {}
int stallhound_window_start(const char*) { return -1; }
int stallhound_window_stop() { return -1; }
}
