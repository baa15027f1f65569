"""What recording costs: on and off blocks inside one process, interleaved; medians. overhead.py [MODE WORKLOAD BUSY]

Without arguments: every mode in a process of its own, and a bare process. Workloads: `launch`, a loop of 1-element adds;
`sync`, waits on an idle stream from Python with the GIL held, so that the difference is the call record with its stack;
`busy` adds a second Python thread that never sleeps.
"""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import threading
import time

MODES = ("light", "default", "full")
CASES = (("launch", False), ("sync", False), ("sync", True))
BLOCKS, WARMUP_BLOCKS = 200, 20


def _launch_block(torch):
    value = torch.zeros(1, device="cuda")

    def block(count=2000):
        for _ in range(count):
            value.add_(1)

    return block, 2000


def _sync_block(torch):
    torch.zeros(1, device="cuda")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        runtime = next(line.split()[-1] for line in maps if "libcudart" in line)
    wait = ctypes.PyDLL(runtime).cudaStreamSynchronize

    def innermost(count):
        for _ in range(count):
            wait(None)

    def nested(depth, count):
        return innermost(count) if depth == 0 else nested(depth - 1, count)

    return lambda count=2000: nested(14, count), 2000


def _measure(mode, workload, busy):
    import torch

    block, calls = {"launch": _launch_block, "sync": _sync_block}[workload](torch)
    recorder = ctypes.CDLL(os.environ["RECORDER"]) if mode != "bare" else None
    if busy:
        threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
    times = {True: [], False: []}
    for i in range(WARMUP_BLOCKS + BLOCKS):
        is_on = i % 2 == 1
        if recorder:
            result = recorder.stallhound_window_start(b"overhead") if is_on else recorder.stallhound_window_stop()
            if result != 0 and i > 1:
                sys.exit(f"the recorder refused to {'start' if is_on else 'stop'} a window")
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        block()
        elapsed = time.perf_counter_ns() - start
        torch.cuda.synchronize()
        if i >= WARMUP_BLOCKS:
            times[is_on].append(elapsed / calls)
    on, off = statistics.median(times[True]), statistics.median(times[False])
    print(json.dumps({"mode": mode, "workload": workload, "busy": busy, "on_ns": on, "off_ns": off, "cost_ns": on - off}))


def _run(mode, workload, busy):
    environment = dict(os.environ)
    if mode != "bare":
        spool = os.path.join(os.environ["STALLHOUND_HOME"], f"overhead-{mode}-{workload}-{busy}")
        environment.update(
            CUDA_INJECTION64_PATH=os.environ["RECORDER"], STALLHOUND_MODE=mode, STALLHOUND_WINDOW_API="1", STALLHOUND_SPOOL_DIR=spool
        )
    command = [sys.executable, os.path.abspath(__file__), mode, workload, str(int(busy))]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{mode} {workload}: ended with {run.returncode}: {run.stderr[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def main():
    if len(sys.argv) == 4:
        return _measure(sys.argv[1], sys.argv[2], sys.argv[3] == "1")
    results = [_run(mode, workload, busy) for workload, busy in CASES for mode in ("bare",) + MODES]
    with open(os.path.join(os.environ["OUT"], "overhead.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    print("workload       mode      on us   off us  cost us")
    for r in results:
        name = r["workload"] + (" busy" if r["busy"] else "")
        print(f"{name:<14} {r['mode']:<8} {r['on_ns'] / 1e3:7.2f}  {r['off_ns'] / 1e3:7.2f}  {r['cost_ns'] / 1e3:7.2f}")
    costs = {(r["workload"], r["busy"], r["mode"]): r["cost_ns"] / 1e3 for r in results}
    print(f"per launch: light {costs['launch', False, 'light']:.2f} us, default {costs['launch', False, 'default']:.2f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
