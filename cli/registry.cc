#include "cli/registry.h"

#include "cli/commands/captures_command.h"
#include "cli/commands/doctor_command.h"
#include "cli/commands/env_command.h"
#include "cli/commands/import_command.h"
#include "cli/commands/prune_command.h"
#include "cli/commands/query_command.h"

namespace stallhound::cli {

void AddAllCommands(CommandRegistry& registry) {
  AddDoctorCommand(registry);
  AddEnvCommand(registry);
  AddQueryCommand(registry);
  AddCapturesCommand(registry);
  AddImportCommand(registry);
  AddPruneCommand(registry);
}

}  // namespace stallhound::cli
