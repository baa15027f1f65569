#pragma once

// A judgement in the history, once.

#include <absl/status/status.h>

#include <string>

#include "store/history.h"

namespace stallhound::cli {

// Follows from all of the judgement but its uuid: the same content has the same one.
std::string JudgementUuid(const store::Judgement& judgement);

// Adds a judgement, unless the newest of its run says the same (but for the time). Errors: those of the history.
absl::Status KeepJudgement(const store::Judgement& judgement, store::History& history);

}  // namespace stallhound::cli
