#!/usr/bin/env python3
"""score_twins.py FOLDER [RUNS]: is what a hunt calls recoverable what the fixed twin of a script saves?

FOLDER is a corpus folder as score_syncs.py reads it: scripts, and expected.json, whose entries name a `fixed_twin`. Both
of a pair are recorded RUNS times (3), by turns, and the medians of their steps compared. A pair is scored if the twin
brings at most 2 new kernels a step, so that it does the same work, and its kernels take at most 5 us a step more; others
are shown. Right: within 15% of the measured difference or 50 us a step, whichever is more. Needs a GPU and torch.
STALLHOUND and RECORDER name the program and the recorder's library, JOBS how many scripts run at once (2).
"""

import ctypes
import json
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

TOLERANCE_RATIO, TOLERANCE_NS = 0.15, 50_000
MOST_NEW_KERNELS, MOST_NEW_NS = 2, 5_000  # a step
NEEDED_RATIO = 0.8

# From the start of the range to the end of all that was submitted in it.
TIME_SQL = """WITH m AS (SELECT start_ns s, end_ns e FROM v_range WHERE name = 'measured')
SELECT max(m.e, coalesce(max(k.end_ns), 0)) - m.s AS total_ns FROM m LEFT JOIN kernel k ON k.launch_start_ns BETWEEN m.s AND m.e"""
KERNELS_SQL = """WITH m AS (SELECT start_ns s, end_ns e FROM v_range WHERE name = 'measured')
SELECT s.name, count(*) AS count, sum(k.end_ns - k.start_ns) AS total_ns FROM m
JOIN kernel k ON k.launch_start_ns BETWEEN m.s AND m.e JOIN v_kernel_shape s USING (kernel_shape_id) GROUP BY s.name"""


def _query(capture, sql):
    done = subprocess.run([os.environ["STALLHOUND"], "query", "--format", "json", sql, capture], check=True, capture_output=True)
    return json.loads(done.stdout)


def _record(script, folder):
    """The process is forked, so that torch is imported once for all."""
    pid = os.fork()
    if pid == 0:
        os.environ.update(
            CUDA_INJECTION64_PATH=os.environ["RECORDER"], NVTX_INJECTION64_PATH=os.environ["RECORDER"], STALLHOUND_SPOOL_DIR=folder
        )
        with open(os.path.join(folder, "log"), "wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        sys.argv = [script]
        code = 0
        try:
            runpy.run_path(script, run_name="__main__")
        except BaseException:  # whatever it is, the parent's clean-up must not run here
            traceback.print_exc()
            code = 1
        ctypes.CDLL(None).exit(code)  # so that the recorder's exit handler does
    return pid


def _analyse(folder):
    environment = dict(os.environ, STALLHOUND_HOME=folder)
    report = os.path.join(folder, "hunt.json")
    command = [os.environ["STALLHOUND"], "hunt", "--range", "measured", "--format", "json", "--output", report, "--from", folder]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    capture = done.stderr.split("capture: ", 1)[1].splitlines()[0]
    with open(report, encoding="utf-8") as file:
        hunt = json.load(file)
    return {
        "total_ns": _query(capture, TIME_SQL)[0]["total_ns"],
        "kernels": {row["name"]: (row["count"], row["total_ns"]) for row in _query(capture, KERNELS_SQL)},
        "recoverable_ns": hunt["recoverable_all_ns"] or 0,
    }


def new_kernels(run, fixed, steps):
    """Kernels a step that only the twin has, or has more of; and what its kernels take longer, in ns a step."""
    more = Counter()
    for name, (count, _) in fixed["kernels"].items():
        extra = count - run["kernels"].get(name, (0, 0))[0]
        if extra > 0:
            more[name] = extra / steps
    longer = sum(ns for _, ns in fixed["kernels"].values()) - sum(ns for _, ns in run["kernels"].values())
    return more, longer / steps


def compare(runs, fixed_runs, steps):
    run, fixed = runs[0], fixed_runs[0]
    measured = (statistics.median(r["total_ns"] for r in runs) - statistics.median(r["total_ns"] for r in fixed_runs)) / steps
    # What all waits of the script cost, but for those that the twin keeps.
    recoverable = statistics.median(r["recoverable_ns"] - f["recoverable_ns"] for r, f in zip(runs, fixed_runs)) / steps
    more, longer_ns = new_kernels(run, fixed, steps)
    return {
        "step_ns": statistics.median(r["total_ns"] for r in runs) / steps,
        "measured_ns": measured,
        "recoverable_ns": recoverable,
        "is_right": abs(recoverable - measured) <= max(TOLERANCE_RATIO * abs(measured), TOLERANCE_NS),
        "is_scored": sum(more.values()) <= MOST_NEW_KERNELS and longer_ns <= MOST_NEW_NS,
        "new_kernels": dict(more),
    }


def right_of_scored(rows):
    scored = [row for row in rows if row["is_scored"]]
    return sum(row["is_right"] for row in scored), len(scored)


def _run_pairs(corpus, pairs, runs):
    jobs = int(os.environ.get("JOBS", "2"))
    results = {name: [] for pair in pairs for name in pair}
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(max_workers=4) as analyses:
        queue, running, pending = [name for _ in range(runs) for pair in pairs for name in pair], {}, []
        while queue or running:
            while queue and len(running) < jobs:
                name = queue.pop(0)
                folder = tempfile.mkdtemp(dir=work)
                running[_record(os.path.join(corpus, name), folder)] = (name, folder)
            pid, status = os.wait()
            name, folder = running.pop(pid)
            if status != 0:
                print(f"{name}: ended with {os.waitstatus_to_exitcode(status)}")
            pending.append((name, folder))
        for name, folder in pending:
            analyses.submit(lambda at=folder, to=results[name]: to.append(_analyse(at)))
    return results


def main(corpus, runs=3):
    import torch  # noqa: F401  # once, before the forks; it does not touch CUDA

    with open(os.path.join(corpus, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    pairs = [
        (entry["file"], entry["fixed_twin"])
        for entry in expected["files"]
        if entry.get("fixed_twin") and entry["variant"] == "sync" and entry["confidence"] == "measured"
    ]
    results = _run_pairs(corpus, pairs, runs)
    rows = []
    for name, fixed in pairs:
        if not results[name] or not results[fixed]:
            print(f"{name}: no recording")
            continue
        row = {"name": name, **compare(results[name], results[fixed], expected["steps"])}
        rows.append(row)
        verdict = ("right" if row["is_right"] else "WRONG") if row["is_scored"] else "not scored"
        print(
            f"{name:45} step {row['step_ns'] / 1e3:9.1f} us  measured {row['measured_ns'] / 1e3:8.1f}"
            f"  recoverable {row['recoverable_ns'] / 1e3:8.1f}  {verdict}"
        )
        for kernel, count in row["new_kernels"].items():
            print(f"    new in the twin: {count:g} a step of {kernel[:100]}")
    if "OUT" in os.environ:
        with open(os.path.join(os.environ["OUT"], "twins.json"), "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    right, scored = right_of_scored(rows)
    print(f"recoverable right in {right} of {scored} scored pairs ({len(rows)} pairs)")
    return 0 if scored and right >= NEEDED_RATIO * scored else 1


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
