"""Programs that are measured by turns, each in a process of its own: a machine's speed drifts by more than they differ.

The asking side makes `Turns` of a folder, starts the process, which calls `serve` with the same folder, and asks it for one
turn after the other. Named pipes, because a tool between the two may not hand on other descriptors.
"""

import os
import select
import time

_ASK, _ANSWER = "turns.ask", "turns.answer"


class Turns:
    """Of one process. `folder` is its own, and exists."""

    def __init__(self, folder):
        paths = [os.path.join(folder, name) for name in (_ASK, _ANSWER)]
        for path in paths:
            os.mkfifo(path)
        # Both ends, so that opening waits for nobody.
        self._ask, self._answer = (os.open(path, os.O_RDWR) for path in paths)

    def take(self, pid, limit_s=120):
        """What the process answers after its turn; None if it ended, which it stays to be waited for, or took too long."""
        os.write(self._ask, b"turn\n")
        give_up = time.monotonic() + limit_s
        while time.monotonic() < give_up:
            if select.select([self._answer], [], [], 0.2)[0]:
                return os.read(self._answer, 1000).decode().strip()
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return None
        return None

    def end(self, wait):
        """Asks the process to end; what `wait()` returns, which waits for it."""
        os.write(self._ask, b"end\n")
        waited = wait()
        os.close(self._ask)
        os.close(self._answer)
        return waited


def serve(folder, turn):
    """In the process: answers with what `turn()` returns, a word, until it is asked to end."""
    with open(os.path.join(folder, _ASK), encoding="ascii") as asked, open(os.path.join(folder, _ANSWER), "w", encoding="ascii") as answers:
        for line in asked:
            if line == "end\n":
                return
            print(turn(), file=answers, flush=True)
