"""torch.profiler in the middle of a recorded script: it works, the program ends well, and the report names the loss.

Tried three ways: recorder first, `--yield-to-profiler`, and torch.profiler without a recorder for comparison.
"""

import json
import os
import subprocess
import sys

STALLHOUND = os.environ.get("STALLHOUND", "stallhound")


def victim():
    import torch
    from torch.profiler import ProfilerActivity, profile

    a = torch.randn(512, 512, device="cuda")

    def work(steps):
        for _ in range(steps):
            torch.mm(a, a).sum().item()

    work(200)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work(200)
        torch.cuda.synchronize()
    work(200)
    torch.cuda.synchronize()
    kernels = sum(event.count for event in profiler.key_averages() if "gemm" in event.key.lower() or "cutlass" in event.key.lower())
    print(json.dumps({"profiler_kernels": kernels}))


def _run(name, options):
    out = os.path.join(os.environ["OUT"], f"second_profiler_{name}.json")
    command = [STALLHOUND, "hunt", "--format", "json", "--output", out, *options, "--"] if options is not None else []
    run = subprocess.run(command + [sys.executable, os.path.abspath(__file__), "victim"], capture_output=True, text=True, check=False)
    print(f"{name}: exit {run.returncode}, {run.stdout.strip()[-200:]}")
    if run.returncode != 0:
        print(run.stderr[-2000:])
        return None
    if options is None:
        return {}
    with open(out, encoding="utf-8") as file:
        report = json.load(file)
    losses = [loss["id"] for loss in report["losses"]]
    waits = next(total["count"] for total in report["totals"] if total["kind"] == "wait")
    print(f"  waits {waits} (600 expected), losses {losses}, notes {report['notes']}")
    return report


def main():
    bare, first, yielding = _run("bare", None), _run("first", []), _run("yielding", ["--yield-to-profiler"])
    ok = None not in (bare, first, yielding) and bool(first["losses"])
    print("the program ended well each time; the loss is named" if ok else "see above")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(victim() if sys.argv[1:] == ["victim"] else main())
