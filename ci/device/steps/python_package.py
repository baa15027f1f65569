"""The wheel on a GPU: budgets of blocks whose waits are known, exceeded ones with their line, what both cost; in modes light
and default, and, started as root, as a user without rights."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

NOBODY = 65534
WINDOWS = 20000


def cases():
    """(name, block, its waits)"""
    import torch

    weights = torch.randn(512, 512, device="cuda", requires_grad=True)
    pageable, pinned = torch.randn(1 << 20), torch.randn(1 << 20).pin_memory()

    def in_a_thread():
        thread = threading.Thread(target=lambda: weights.sum().item())
        thread.start()
        thread.join()

    return [
        ("kernels", lambda: weights @ weights, 0),
        ("backward", lambda: (weights @ weights).sum().backward(), 0),
        ("pinned", lambda: pinned.to("cuda", non_blocking=True), 0),
        ("pageable", lambda: pageable.to("cuda"), 1),
        ("item", lambda: weights.sum().item(), 1),
        ("items", lambda: [weights.sum().item() for _ in range(50)], 50),
        ("thread", in_a_thread, 1),
    ]


def victim():
    import stallhound

    problems, costs_s = [], []
    for name, block, waits in cases():
        block()  # loads modules, allocates
        start_s = time.monotonic()
        try:
            with stallhound.budget(waits=waits) as budget:
                block()
            if not budget.was_checked or budget.counts["wait"] != waits:
                problems.append(f"{name}: {budget.counts} instead of {waits} waits; {budget.reason}")
        except stallhound.BudgetExceeded as error:
            problems.append(f"{name}: {error}")
        costs_s.append(time.monotonic() - start_s)
        if waits == 0:
            continue
        try:
            with stallhound.budget(waits=waits - 1):
                block()
            problems.append(f"{name}: {waits} waits passed as {waits - 1}")
        except stallhound.BudgetExceeded as error:
            if f"{os.path.basename(__file__)}:{block.__code__.co_firstlineno} " not in str(error) and name != "thread":
                problems.append(f"{name}: not the line {block.__code__.co_firstlineno}: {error}")
    start_s = time.monotonic()
    for _ in range(WINDOWS):
        with stallhound.window("step"):
            pass
    window_us = (time.monotonic() - start_s) / WINDOWS * 1e6
    print(json.dumps({"problems": problems, "budget_s": max(costs_s), "window_us": window_us}))


def record(site, mode, user):
    script = os.path.join(site, os.path.basename(__file__))
    with tempfile.TemporaryDirectory() as home:
        if user:
            os.chown(home, user, user)
        command = [sys.executable, "-m", "stallhound", "hunt", "--mode", mode, "--", sys.executable, script, "victim"]
        environment = {**os.environ, "PYTHONPATH": site, "STALLHOUND_HOME": os.path.join(home, "captures"), "HOME": home, "TMPDIR": home}
        as_user = {"user": user, "group": user, "extra_groups": []} if user else {}
        run = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=100, check=False, **as_user)
    who = f"mode {mode}{', no rights' if user else ''}"
    if run.returncode != 0:
        print(run.stdout, run.stderr)
        sys.exit(f"{who}: ended with {run.returncode}")
    seen = json.loads(run.stdout.splitlines()[-1])
    print(f"{who}: budget {seen['budget_s']:.2f} s, window {seen['window_us']:.2f} us; {seen['problems'] or 'all as expected'}")
    return seen["problems"]


def main():
    wheel = glob.glob(os.path.join(os.environ["BUNDLE"], "*.whl"))[0]
    with tempfile.TemporaryDirectory() as site:
        os.chmod(site, 0o755)
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                os.chmod(archive.extract(member, site), member.external_attr >> 16 & 0o777)
        shutil.copy(os.path.abspath(__file__), site)  # where a user without rights may read it
        problems = record(site, "light", 0) + record(site, "default", 0)
        if os.getuid() == 0:
            problems += record(site, "light", NOBODY)
    print("budgets count exactly" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(victim() if sys.argv[1:] == ["victim"] else main())
