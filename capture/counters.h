#pragma once

// Typed loss counters: everything that was lost, odd or forgiven while recording, reading or importing. Numbers are
// stored in files: append only. std only: the recorder and every reader share this list.

#include <cstdint>

namespace stallhound::capture {

enum class LossSeverity : uint8_t {
  kNote,   // odd, harmless: nothing that a verdict uses is missing
  kLoss,   // data of some kind is missing in the interval
  kFatal,  // the recording cannot be trusted from there on
};

// (Name, text id, severity, what it means)
#define SH_LOSS_COUNTERS(COUNTER)                                                                                  \
  COUNTER(DroppedRecords, "dropped-records", kLoss, "CUPTI had no buffer and dropped activity records")            \
  COUNTER(ZeroTime, "zero-time", kLoss, "kernels or copies without times: device buffers were exhausted")          \
  COUNTER(LaunchWithoutKernel, "launch-without-kernel", kLoss, "launches whose kernel record never arrived")       \
  COUNTER(KernelWithoutLaunch, "kernel-without-launch", kNote, "GPU work whose launching call was not recorded")   \
  COUNTER(StackNotTaken, "stack-not-taken", kNote, "calls whose stack could not be taken")                         \
  COUNTER(PythonUnknown, "python-unknown", kNote, "a Python version whose frames the recorder does not know")      \
  COUNTER(StackTruncated, "stack-truncated", kNote, "stacks deeper than the recorder stores")                      \
  COUNTER(SpoolFull, "spool-full", kLoss, "records not written: the spool reached its limit")                      \
  COUNTER(DiskFull, "disk-full", kLoss, "records not written: no space left for the spool")                        \
  COUNTER(SpoolTruncated, "spool-truncated", kLoss, "the spool file ends before its last chunk")                   \
  COUNTER(CorruptChunk, "corrupt-chunk", kLoss, "spool chunks that do not parse")                                  \
  COUNTER(CorruptRecord, "corrupt-record", kLoss, "records that do not parse")                                     \
  COUNTER(RingOverwritten, "ring-overwritten", kNote, "records older than --last were overwritten, as asked")      \
  COUNTER(Killed, "killed", kLoss, "the process ended without closing its spool; later times are unknown")         \
  COUNTER(UndeliveredRecovered, "undelivered-recovered", kNote, "records read from CUPTI buffers never delivered") \
  COUNTER(UnknownLayout, "unknown-layout", kLoss, "activity records of a CUPTI version without a layout table")    \
  COUNTER(SanityFailed, "sanity-failed", kFatal, "the first activity buffer contradicts the layout table")         \
  COUNTER(GpuSideLost, "gpu-side-lost", kLoss, "another profiler took CUPTI over")                                 \
  COUNTER(HolderPresent, "holder-present", kLoss, "another profiler held CUPTI from the start")                    \
  COUNTER(CuptiMissing, "cupti-missing", kLoss, "no usable CUPTI: host side only")                                 \
  COUNTER(TwoCupti, "two-cupti", kNote, "two copies of libcupti are mapped in the process")                        \
  COUNTER(CuptiError, "cupti-error", kLoss, "a CUPTI call failed")                                                 \
  COUNTER(ClockViolation, "clock-violation", kNote, "GPU times that contradict the host's order of events")        \
  COUNTER(UnbalancedRange, "unbalanced-range", kNote, "range pops without a push, or ends without a start")        \
  COUNTER(OpenRange, "open-range", kNote, "ranges still open at the end")                                          \
  COUNTER(UnknownString, "unknown-string", kNote, "names that could not be resolved")                              \
  COUNTER(ForkedChild, "forked-child", kNote, "the process is a fork of a recorded one")                           \
  COUNTER(GraphLevelOnly, "graph-level-only", kLoss, "graph launches recorded as a whole: their work is unknown")  \
  COUNTER(DuplicateCall, "duplicate-call", kNote, "the same call stored twice in a foreign file; one was kept")    \
  COUNTER(MissingColumn, "missing-column", kNote, "a column or table of a foreign file is absent")                 \
  COUNTER(ForgivenJson, "forgiven-json", kNote, "invalid JSON that was read all the same")                         \
  COUNTER(MissingField, "missing-field", kNote, "events without a field that others have")                         \
  COUNTER(BadValue, "bad-value", kNote, "values out of range or of the wrong type; treated as unknown")            \
  COUNTER(NegativeDuration, "negative-duration", kNote, "events that end before they start")                       \
  COUNTER(ContradictingSync, "contradicting-sync", kNote, "a sync record whose type contradicts its call")         \
  COUNTER(TruncatedFile, "truncated-file", kLoss, "a foreign file ends early; what came before the cut was read")  \
  COUNTER(ForeignDiagnostic, "foreign-diagnostic", kNote, "warnings the producing tool left in its file")          \
  COUNTER(UnknownEvent, "unknown-event", kNote, "events of a kind the importer does not read")                     \
  COUNTER(DuplicateEvent, "duplicate-event", kNote, "events stored twice; one was kept")                           \
  COUNTER(SyncWithoutCall, "sync-without-call", kLoss, "waits whose calls were not recorded: no sites")

enum class LossCounter : uint16_t {
#define SH_COUNTER_ENUMERATOR(Name, id, severity, meaning) k##Name,
  SH_LOSS_COUNTERS(SH_COUNTER_ENUMERATOR)
#undef SH_COUNTER_ENUMERATOR
      kCount,
};

struct LossCounterInfo {
  const char* id;
  LossSeverity severity;
  const char* meaning;
};

inline constexpr LossCounterInfo kLossCounters[] = {
#define SH_COUNTER_INFO(Name, id, severity, meaning) {id, LossSeverity::severity, meaning},
    SH_LOSS_COUNTERS(SH_COUNTER_INFO)
#undef SH_COUNTER_INFO
};

// Of a counter outside the list, which only a newer stallhound can have counted: data may be missing.
inline constexpr LossCounterInfo kUnknownLossCounter = {"unknown-counter", LossSeverity::kLoss,
                                                        "a loss that this version of stallhound does not know"};

constexpr const LossCounterInfo& Info(LossCounter counter) {
  return counter < LossCounter::kCount ? kLossCounters[static_cast<int>(counter)] : kUnknownLossCounter;
}

}  // namespace stallhound::capture
