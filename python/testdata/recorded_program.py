"""A program to record without a GPU: recorded_program.py NVTX_LIBRARY. Prints what it sees of its own recording."""

import ctypes
import json
import sys
import warnings

import stallhound
from stallhound import _counts, _recorder

nvtx = ctypes.CDLL(sys.argv[1])
nvtx.push(b"before")  # loads the recorder
nvtx.pop()


@stallhound.window("step")
def step():
    nvtx.push(b"inner")
    nvtx.pop()


for _ in range(3):
    step()
nvtx.push(b"after")
nvtx.pop()
seen = {"flushed": _recorder.loaded().flush(30), "steps": len(_counts.of_range(_recorder.spools(), "step")["spans"])}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with stallhound.budget(waits=0) as budget:
        pass
seen["was_checked"], seen["warning"] = budget.was_checked, str(caught[0].message)
print(json.dumps(seen))
