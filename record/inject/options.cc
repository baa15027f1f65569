#include "record/inject/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/control/environment.h"

namespace stallhound::record {
namespace {

using capture::spool::Mode;

class Reader {
 public:
  Reader(const char* (*get)(const char*), int& bad_value_count) : get_(get), bad_value_count_(bad_value_count) {}

  // Null if absent or empty.
  const char* Text(const char* name) const {
    const char* value = get_(name);
    return value == nullptr || value[0] == '\0' ? nullptr : value;
  }
  void Flag(const char* name, bool& flag) const {
    const char* value = Text(name);
    if (value == nullptr) return;
    flag = strcmp(value, "1") == 0;
    if (!flag && strcmp(value, "0") != 0) ++bad_value_count_;
  }
  template <typename T>
  void Number(const char* name, T& number) const {
    const char* value = Text(name);
    if (value == nullptr) return;
    char* end = nullptr;
    errno = 0;
    const long long parsed = strtoll(value, &end, 10);
    if (errno != 0 || *end != '\0' || parsed < 0) {
      ++bad_value_count_;
    } else {
      number = static_cast<T>(parsed);
    }
  }
  void Bad() const { ++bad_value_count_; }

 private:
  const char* (*get_)(const char*);
  int& bad_value_count_;
};

void ReadMode(const Reader& reader, Mode& mode) {
  const char* value = reader.Text(kMode);
  if (value == nullptr) return;
  if (strcmp(value, "light") == 0) {
    mode = Mode::kLight;
  } else if (strcmp(value, "full") == 0) {
    mode = Mode::kFull;
  } else if (strcmp(value, "default") != 0) {
    reader.Bad();
  }
}

void ReadDirectory(const Reader& reader, char (&directory)[PATH_MAX]) {
  if (const char* chosen = reader.Text(kSpoolDirectory); chosen != nullptr) {
    snprintf(directory, sizeof(directory), "%s", chosen);
  } else if (const char* home = reader.Text("STALLHOUND_HOME"); home != nullptr) {
    snprintf(directory, sizeof(directory), "%s/spool", home);
  } else {
    snprintf(directory, sizeof(directory), "./.stallhound/spool");
  }
}

}  // namespace

RecorderOptions ReadOptions(const char* (*get)(const char* name)) noexcept {
  RecorderOptions options;
  const Reader reader(get, options.bad_value_count);
  reader.Flag(kDisable, options.is_disabled);
  ReadDirectory(reader, options.spool_directory);
  ReadMode(reader, options.mode);
  reader.Number(kMaxSpoolBytes, options.max_spool_bytes);
  reader.Number(kLastNs, options.last_ns);
  reader.Flag(kOperators, options.has_operators);
  reader.Flag(kYield, options.yields_to_profiler);
  reader.Flag(kRecordArgv, options.records_argv);
  options.cupti_path = reader.Text(kCuptiPath);
  reader.Number(kDelayNs, options.window.delay_ns);
  reader.Number(kDurationNs, options.window.duration_ns);
  options.window.range = reader.Text(kWindowRange);
  reader.Flag(kWindowApi, options.window.needs_start);
  if (const char* steps = reader.Text(kWindowSteps); steps != nullptr) {
    if (options.window.range == nullptr || !ParseSteps(steps, options.window.first_step, options.window.last_step)) {
      reader.Bad();
    }
  }
  return options;
}

}  // namespace stallhound::record
