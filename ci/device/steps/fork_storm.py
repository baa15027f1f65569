"""Forks while the parent is being recorded: no child hangs or crashes, and each that uses CUDA after spawn has a spool."""

import multiprocessing
import os
import subprocess
import sys
import time

CHILDREN = 200


def _use_gpu(_):
    import torch

    return torch.ones(8, device="cuda").sum().item()


def victim():
    import threading

    import torch

    a = torch.randn(256, 256, device="cuda")
    stop = threading.Event()

    def work():
        while not stop.is_set():
            torch.mm(a, a).sum().item()

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(CHILDREN):
        pid = os.fork()
        if pid == 0:
            os._exit(7)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 7:
            sys.exit("a forked child did not end as told")
    stop.set()
    thread.join()
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        print("spawned children:", sum(pool.map(_use_gpu, range(4))))


def main():
    spool = os.path.join(os.environ["STALLHOUND_HOME"], "fork-storm")
    environment = dict(os.environ, CUDA_INJECTION64_PATH=os.environ["RECORDER"], STALLHOUND_SPOOL_DIR=spool)
    start = time.monotonic()
    run = subprocess.run([sys.executable, os.path.abspath(__file__), "victim"], env=environment, timeout=100, check=False)
    spools = [name for name in os.listdir(spool) if ".spool" in name]
    print(f"{CHILDREN} forks in {time.monotonic() - start:.1f} s, exit code {run.returncode}, {len(spools)} spools")
    return 0 if run.returncode == 0 and 2 <= len(spools) <= 6 else 1


if __name__ == "__main__":
    sys.exit(victim() if sys.argv[1:] == ["victim"] else main())
