#include "cli/registry.h"

#include "cli/commands/ab_command.h"
#include "cli/commands/baseline_command.h"
#include "cli/commands/bench_command.h"
#include "cli/commands/captures_command.h"
#include "cli/commands/completion_command.h"
#include "cli/commands/config_command.h"
#include "cli/commands/counts_command.h"
#include "cli/commands/doctor_command.h"
#include "cli/commands/env_command.h"
#include "cli/commands/explain_command.h"
#include "cli/commands/export_command.h"
#include "cli/commands/gate_command.h"
#include "cli/commands/hunt_command.h"
#include "cli/commands/import_command.h"
#include "cli/commands/nightly_command.h"
#include "cli/commands/prune_command.h"
#include "cli/commands/query_command.h"
#include "cli/commands/report_command.h"
#include "cli/commands/runs_command.h"

namespace stallhound::cli {

void AddAllCommands(CommandRegistry& registry) {
  AddHuntCommand(registry);
  AddExplainCommand(registry);
  AddDoctorCommand(registry);
  AddEnvCommand(registry);
  AddCountsCommand(registry);
  AddQueryCommand(registry);
  AddCapturesCommand(registry);
  AddNightlyCommand(registry);
  AddGateCommand(registry);
  AddReportCommand(registry);
  AddRunsCommand(registry);
  AddBaselineCommand(registry);
  AddImportCommand(registry);
  AddExportCommand(registry);
  AddPruneCommand(registry);
  AddBenchCommand(registry);
  AddAbCommand(registry);
  AddConfigCommand(registry);
  AddCompletionCommand(registry);
}

}  // namespace stallhound::cli
