"""`hunt --operators`: the forward line of a backward that waits, and what an operator costs. $OUT/operators.json.

Cost: a loop of small operators in four ways, processes interleaved: bare; recorded; with torch's NVTX ranges alone
(emit_nvtx, no NVTX tool loaded); recorded with --operators. The recorder's own cost of an operator is what --operators adds to
the recorded loop less what torch's ranges add to the bare one.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

STALLHOUND = os.environ.get("STALLHOUND", "stallhound")
ROUNDS = 5
OPERATORS = 20_000
LIMIT_US = 1.5
NEEDED_NAMED, NEEDED_LINES_RATIO = 1, 1  # sites of the backward that name the planted line; share of them with a forward line

LOOP = f"""
import contextlib, sys, time
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.ones(16, device=device, requires_grad=True)
ranges = torch.autograd.profiler.emit_nvtx() if sys.argv[1:] == ["ranges"] else contextlib.nullcontext()
def loop(count):
    for _ in range(count):
        x.mul(2.0)
def nested(depth, count):
    return loop(count) if depth == 0 else nested(depth - 1, count)
with ranges:
    nested(14, 2000)
    if device == "cuda": torch.cuda.synchronize()
    best = []
    for _ in range(5):
        start = time.perf_counter()
        nested(14, {OPERATORS} // 5)
        best.append(time.perf_counter() - start)
        if device == "cuda": torch.cuda.synchronize()
print(min(best) / ({OPERATORS} // 5) * 1e6)
"""

# As box regression picks its positive anchors: the mask's backward puts values back by index and waits.
BACKWARD = """
import torch
torch.manual_seed(1)
weights = torch.randn(4096, 4, device="cuda", requires_grad=True)
boxes = torch.randn(4096, 4, device="cuda")
labels = torch.rand(4096, device="cuda") > 0.5

def box_loss(deltas):
    picked = deltas[labels]  # FORWARD
    return (picked * picked).sum() + deltas.max()

for _ in range(12):
    loss = box_loss(weights * boxes)
    loss.backward()
    weights.grad = None
torch.cuda.synchronize()
"""


def _run(command, work, environment=None):
    run = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{command}: ended with {run.returncode}: {run.stderr[-2000:]}")
    return run.stdout


def _cost(work):
    script = os.path.join(work, "loop.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(LOOP)
    python = [sys.executable, "-W", "ignore", script]
    hunt = [STALLHOUND, "hunt", "--output", os.path.join(work, "report.txt")]
    ways = {
        "bare": python,
        "ranges": [*python, "ranges"],
        "recorded": [*hunt, "--", *python],
        "operators": [*hunt, "--operators", "--", *python],
    }
    seen = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, command in ways.items():
            seen[way].append(float(_run(command, work).splitlines()[-1]))
    us = {way: statistics.median(values) for way, values in seen.items()}
    us["own"] = (us["operators"] - us["recorded"]) - (us["ranges"] - us["bare"])
    return {f"{way}_us": round(value, 3) for way, value in us.items()}


def _backward(work):
    """The waits of the backward, with and without the line."""
    script = os.path.join(work, "boxes.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(BACKWARD)
    line = next(number for number, text in enumerate(BACKWARD.splitlines(), 1) if "# FORWARD" in text)
    output = os.path.join(os.environ.get("OUT", work), "operators_backward.json")
    command = [STALLHOUND, "hunt", "--operators", "--format", "json", "--output", output, "--"]
    _run([*command, sys.executable, "-W", "ignore", script], work)
    with open(output, encoding="utf-8") as file:
        report = json.load(file)
    backward = [site for site in report["sites"] if any("autograd" in thread for thread in site["threads"]) and site["kind"] == "wait"]
    named = [site for site in backward if site["forward"] and site["forward"]["frame"]["line"] == line]
    sites = [
        {"count": s["count"], "symbol": s["native_symbol"], "node": s["forward"] and s["forward"]["node"],
         "line": s["forward"] and s["forward"]["frame"]["line"], "confidence": s["forward"] and s["forward"]["confidence"]}
        for s in backward
    ]
    return {"expected_line": line, "sites": sites, "named": len(named), "notes": report["notes"]}


def lines_of_sites(result):
    sites = result["backward"]["sites"]
    return sum(1 for site in sites if site["line"] is not None), len(sites)


def main():
    with tempfile.TemporaryDirectory() as work:
        result = {"cost": _cost(work), "backward": _backward(work)}
        with open(os.path.join(os.environ.get("OUT", work), "operators.json"), "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    print(json.dumps(result, indent=1))
    own = result["cost"]["own_us"]
    lines, sites = lines_of_sites(result)
    print(f"own cost of an operator {own} us (limit {LIMIT_US}); {lines} of {sites} backward sites have a forward line")
    is_named = result["backward"]["named"] >= NEEDED_NAMED and lines >= NEEDED_LINES_RATIO * sites
    return 0 if own <= LIMIT_US and is_named else 1


if __name__ == "__main__":
    sys.exit(main())
