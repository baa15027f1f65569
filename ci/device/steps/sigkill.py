"""SIGKILL in a GPU-bound loop: every sync point that had returned, and 95% of the kernels older than 1 s, are there.

The victim keeps its own count in a mapped file, which outlives it: per step the time, launches and waits so far.
"""

import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

STEP = struct.Struct("<qqq")  # CLOCK_MONOTONIC ns, launches, waits
STEPS = 1 << 18
SECONDS = 6


def victim(path):
    import torch

    a = torch.randn(1024, 1024, device="cuda")
    torch.cuda.synchronize()
    with open(path, "r+b") as file:
        shared = mmap.mmap(file.fileno(), STEP.size * STEPS)
    launches = waits = 0
    for step in range(STEPS):
        for _ in range(20):
            torch.mm(a, a)
        launches += 20
        torch.cuda.current_stream().synchronize()
        waits += 1
        STEP.pack_into(shared, step * STEP.size, time.monotonic_ns(), launches, waits)


def _steps(path, until_ns):
    """The last (launches, waits) written before `until_ns`."""
    last = (0, 0)
    with open(path, "rb") as file:
        while True:
            data = file.read(STEP.size)
            if len(data) < STEP.size:
                return last
            when, launches, waits = STEP.unpack(data)
            if when == 0 or when > until_ns:
                return last
            last = (launches, waits)




def main():
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "steps")
    with open(path, "wb") as file:
        file.truncate(STEP.size * STEPS)
    spool = os.path.join(folder, "spool")
    environment = dict(os.environ, CUDA_INJECTION64_PATH=os.environ["RECORDER"], STALLHOUND_SPOOL_DIR=spool)
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), path], env=environment)
    while _steps(path, 1 << 62)[0] == 0 and process.poll() is None:
        time.sleep(0.05)
    time.sleep(SECONDS)
    process.send_signal(signal.SIGKILL)
    killed_ns = time.monotonic_ns()
    process.wait()
    old_launches, _ = _steps(path, killed_ns - 1_000_000_000)
    all_launches, waits = _steps(path, killed_ns)

    hunt = subprocess.run(
        [os.environ["STALLHOUND"], "hunt", "--from", spool, "--format", "json"], capture_output=True, text=True, check=False
    )
    if hunt.returncode != 0:
        sys.exit(f"hunt --from ended with {hunt.returncode}: {hunt.stderr}")
    report = json.loads(hunt.stdout)
    found_waits = next(total["count"] for total in report["totals"] if total["kind"] == "wait")
    counts = subprocess.run(
        [os.environ["STALLHOUND"], "counts", "--format", "json", spool], capture_output=True, text=True, check=True
    )
    kernels = json.loads(counts.stdout)["total"]["kernel_count"]
    share = min(1.0, kernels / old_launches)
    print(json.dumps({"losses": report["losses"], "notes": report["notes"]}, indent=1))
    print(f"waits found {found_waits} of {waits}; kernels {kernels} of {all_launches}, {old_launches} of them older than 1 s ({100 * share:.1f}%)")
    return 0 if found_waits >= waits and share >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(victim(sys.argv[1]) if len(sys.argv) == 2 else main())
