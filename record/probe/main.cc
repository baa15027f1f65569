// stallhound_probe: facts of this machine for `stallhound doctor`, as one line of JSON. README.md documents the keys.

#include <cstdio>
#include <cstring>

#include "record/probe/facts.h"

int main(int argument_count, char** arguments) {
  stallhound::record::ProbeOptions options;
  if (argument_count == 3 && strcmp(arguments[1], "--recorder") == 0) {
    options.recorder = arguments[2];
  } else if (argument_count != 1) {
    fprintf(stderr, "usage: stallhound_probe [--recorder PATH]\n");
    return 2;
  }
  const std::string facts = stallhound::record::ProbeAll(options) + "\n";
  const bool is_written = fwrite(facts.data(), 1, facts.size(), stdout) == facts.size() && fflush(stdout) == 0;
  return is_written ? 0 : 3;
}
