"""Two Python threads that allocate and free on the GPU while recorded: a recorder that took the GIL inside a CUDA call
would stand still here (one thread holds the allocator's lock in cudaMalloc, the other the GIL in a tensor's end)."""

import os
import subprocess
import sys
import threading
import time

SECONDS = 10


def victim():
    import torch

    deadline = time.monotonic() + SECONDS
    rounds = [0, 0, 0]

    def churn(index):
        while time.monotonic() < deadline:
            tensors = [torch.empty((1 << 20) * (i + 1 + index), dtype=torch.uint8, device="cuda") for i in range(8)]
            tensors[0].add_(1)
            del tensors
            if index == 0:
                torch.cuda.empty_cache()  # cudaFree with the allocator's lock held
            rounds[index] += 1

    def spin():
        while time.monotonic() < deadline:
            rounds[2] += 1

    threads = [threading.Thread(target=churn, args=(i,)) for i in range(2)] + [threading.Thread(target=spin)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("rounds", rounds)


def main():
    command = [os.environ["STALLHOUND"], "hunt", "--", sys.executable, os.path.abspath(__file__), "victim"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS * 5, check=False)
    except subprocess.TimeoutExpired:
        sys.exit("deadlock: the program did not end")
    print(run.stdout, run.stderr)
    print(f"no deadlock in {SECONDS} s; exit code {run.returncode}")
    return run.returncode


if __name__ == "__main__":
    sys.exit(victim() if sys.argv[1:] == ["victim"] else main())
