#include "cli/gate/judgement_uuid.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <bit>
#include <vector>

#include "base/status_macros.h"

namespace stallhound::cli {
namespace {

// FNV-1a, 64 bits.
uint64_t Hash(uint64_t hash, std::string_view text) {
  constexpr uint64_t kPrime = 0x100000001b3;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

std::string Content(const store::Judgement& judgement) {
  std::string content =
      fmt::format("{}\n{}\n{}\n{}\n", judgement.run_uuid, absl::StrJoin(judgement.baseline_run_uuids, ","),
                  judgement.rule_version, judgement.judged_at_ns);
  const auto add_number = [&](const auto& number) { content += number ? fmt::format("{}|", *number) : "-|"; };
  for (const store::Verdict& verdict : judgement.verdicts) {
    content += fmt::format("{}\n{}\n{}\n{}\n{}\n", verdict.suite, verdict.benchmark, verdict.metric,
                           store::Text(verdict.outcome), verdict.reason);
    for (const auto& number :
         {verdict.effect_ratio, verdict.interval_low_ratio, verdict.interval_high_ratio, verdict.p_value,
          verdict.q_value, verdict.smallest_p_value, verdict.detectable_effect_ratio}) {
      add_number(number);
    }
    add_number(verdict.baseline_round_count);
    add_number(verdict.run_round_count);
  }
  return content;
}

}  // namespace

std::string JudgementUuid(const store::Judgement& judgement) {
  constexpr uint64_t kStart = 0xcbf29ce484222325;
  const std::string content = Content(judgement);
  const uint64_t first = Hash(kStart, content);
  const uint64_t second = Hash(std::rotl(first, 32) ^ kStart, content);
  // Version 8 of RFC 9562: a hash of our own.
  return fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", first >> 32, (first >> 16) & 0xffff, first & 0xfff,
                     0x8000 | ((second >> 48) & 0x3fff), second & 0xffffffffffff);
}

absl::Status KeepJudgement(const store::Judgement& judgement, store::History& history) {
  SH_ASSIGN_OR_RETURN(std::vector<store::Judgement> known, history.ReadJudgements(judgement.run_uuid));
  if (!known.empty()) {
    store::Judgement& newest = known.front();
    newest.judged_at_ns = judgement.judged_at_ns;
    newest.uuid = judgement.uuid;
    if (newest == judgement) return absl::OkStatus();
  }
  return history.AppendJudgement(judgement).status();
}

}  // namespace stallhound::cli
