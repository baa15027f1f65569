"""Budgets: how many sync points a block may have."""

import itertools
import warnings

from stallhound import _counts, _gpu, _recorder, _window

_FLUSH_LIMIT_S = 30
_numbers = itertools.count(1)

# What can be limited, and the kinds of sync points (README.md of the project) that it takes in.
LIMITS = {
    "waits": ("wait",),
    "pageable_copies": ("pageable-copy",),
    "allocations": ("allocator",),
    "loads": ("loader",),
    "sync_points": ("wait", "pageable-copy", "allocator", "loader"),
}


class BudgetExceeded(AssertionError):
    """A block had more sync points than its budget allows; the message has a line for each place.

    `counts`: sync points by kind; `lines`: the lines of the message.
    """

    def __init__(self, exceeded, counts, lines):
        super().__init__("\n  ".join(["; ".join(exceeded), *lines]))
        self.counts = counts
        self.lines = lines


class NotCheckedWarning(UserWarning):
    """A budget that could not be checked; the message says why."""


def exceeded(limits, counts):
    """A sentence for each limit that `counts` (by kind) are over."""
    sentences = []
    for name, limit in limits.items():
        count = sum(counts[kind] for kind in LIMITS[name])
        if count > limit:
            what = name.replace("_", " ")
            sentences.append(f"budget exceeded: {count} {what[:-1] if count == 1 else what}, at most {limit} allowed")
    return sentences


class budget(_window.Block):
    """Raises BudgetExceeded after a block with more sync points than allowed. None: no limit.

    What any thread of the process does during the block counts. If it cannot be counted (no GPU, no recorder, records
    lost), a NotCheckedWarning says why, and `was_checked` stays False; `reason` has the same sentence. After a check
    `counts` has the sync points by kind. An exception of the block goes through, unchecked.

    Cost: at the end of the block the GPU is waited for and the recording so far is read, so keep it out of hot loops.
    Not for blocks that end while a CUDA graph is being captured.
    """

    def __init__(self, waits=0, pageable_copies=None, allocations=None, loads=None, sync_points=None):
        given = (waits, pageable_copies, allocations, loads, sync_points)
        for name, limit in zip(LIMITS, given):
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
                raise ValueError(f"budget({name}={limit!r}): a limit is a whole number from 0 on, or None")
        self._given = given
        self._limits = {name: limit for name, limit in zip(LIMITS, given) if limit is not None}
        if not self._limits:
            raise ValueError("budget(): give one limit at least")
        self._range_name = ""
        self._range = None
        self.was_checked = False
        self.reason = None
        self.counts = None

    def _recreate_cm(self):
        return type(self)(*self._given)

    def start(self):
        self.was_checked, self.reason, self.counts = False, None, None
        self._range_name = f"budget {next(_numbers)}"
        self._range = _window.RecorderRange(self._range_name)
        self.reason = self._start()

    def _start(self):
        if _recorder.loaded() is None:
            reason = _gpu.missing()
            if reason:
                return reason
            if _recorder.asked_for() is None:
                return "the recorder is not in this process: start it as `stallhound hunt -- python ...`"
            reason = _gpu.initialise()
            if reason:
                return reason
        if not self._range.start():
            return f"CUDA did not load {_recorder.asked_for()}; `stallhound doctor` says more"
        return None

    def stop(self):
        """Ends the block and checks. Raises BudgetExceeded."""
        self._range.stop()
        if self.reason is not None:
            return
        try:
            report = self._count()
            self.counts = _counts.sync_points(report)
        except _counts.NotCounted as error:
            self.reason = str(error)
            return
        self.was_checked = True
        sentences = exceeded(self._limits, self.counts)
        if sentences:
            kinds = {kind for name in self._limits for kind in LIMITS[name]}
            raise BudgetExceeded(sentences, self.counts, _counts.lines(report, kinds))

    def abandon(self):
        """Ends the block without a check."""
        self._range.stop()
        self.reason = self.reason or "the block raised an exception"

    def _count(self):
        _gpu.wait()
        if not _recorder.loaded().flush(_FLUSH_LIMIT_S):
            raise _counts.NotCounted(f"the recorder did not answer within {_FLUSH_LIMIT_S} s")
        return _counts.of_range(_recorder.spools(), self._range_name)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, exception, trace):
        if exception is not None:
            self.abandon()
            return False
        self.stop()
        if not self.was_checked:
            warnings.warn(f"budget not checked: {self.reason}", NotCheckedWarning, stacklevel=2)
        return False
