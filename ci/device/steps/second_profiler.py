"""torch.profiler in the middle of a recorded script: the program ends well, and whoever gets less is told so.

Tried three ways: torch.profiler alone, the recorder first (which then holds CUPTI), and `--yield-to-profiler`.
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
    """(what the program printed, the report or None if nothing was recorded, what hunt said)"""
    out = os.path.join(os.environ["OUT"], f"second_profiler_{name}.json")
    command = [STALLHOUND, "hunt", "--format", "json", "--output", out, *options, "--"] if options is not None else []
    run = subprocess.run(command + [sys.executable, os.path.abspath(__file__), "victim"], capture_output=True, text=True, check=False)
    print(f"{name}: exit {run.returncode}, {run.stdout.strip()[-200:]}\n  {run.stderr.strip()[-600:]}")
    if run.returncode != 0:
        sys.exit(f"{name}: the program was harmed")
    report = None
    if os.path.exists(out):
        with open(out, encoding="utf-8") as file:
            report = json.load(file)
        waits = next(total for total in report["totals"] if total["kind"] == "wait")
        losses = [loss["id"] for loss in report["losses"]]
        print(f"  waits {waits['count']}, stalls {waits['cost']['stall_count']}, losses {losses}, notes {report['notes']}")
    return json.loads(run.stdout.strip().splitlines()[-1])["profiler_kernels"], report, run.stderr


def main():
    bare, _, _ = _run("bare", None)
    _, first, _ = _run("first", [])
    yielded, report, said = _run("yielding", ["--yield-to-profiler"])
    waits = next(total["count"] for total in first["totals"] if total["kind"] == "wait")
    # Either the recorder kept CUPTI and has it all, or it says what it lost.
    whole_or_named = waits >= 600 or bool(first["losses"])
    said_why = report is not None or "nothing was recorded" in said
    ok = bare == yielded == 400 and whole_or_named and said_why
    print("the program ended well each time; nothing was lost unsaid" if ok else "see above")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(victim() if sys.argv[1:] == ["victim"] else main())
