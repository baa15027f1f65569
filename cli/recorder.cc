#include "cli/recorder.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/home.h"
#include "cli/install_paths.h"
#include "cli/operators_hook.h"

namespace stallhound::cli {

absl::StatusOr<Recorder> PrepareRecorder(const std::string& home, const RecordingOptions& options, Console& console) {
  Recorder recorder;
  SH_ASSIGN_OR_RETURN(recorder.path, FindRecorder());
  SH_ASSIGN_OR_RETURN(recorder.spool_folder, NewSpoolFolder(home, SystemClock().RealtimeNs()));
  SH_ASSIGN_OR_RETURN(recorder.variables, RecordingVariables(options, recorder.path, recorder.spool_folder));
  if (options.operators) {
    SH_ASSIGN_OR_RETURN(const std::string hook, FindOperatorsHook());
    AddOperatorsHook(hook, recorder.variables);
  }
  for (const std::string& warning : ResolveInjectionConflicts(options, recorder.variables)) console.Warn(warning);
  return recorder;
}

void RemoveSpools(const std::string& folder) {
  if (HasLiveSpool(folder)) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace stallhound::cli
