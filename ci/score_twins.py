#!/usr/bin/env python3
"""score_twins.py record FOLDER SPOOLS [RUNS] | score FOLDER SPOOLS: is what a hunt calls recoverable what a fixed twin saves?

FOLDER is a corpus folder as score_syncs.py reads it: scripts, and expected.json, whose entries name a `fixed_twin`.

record   runs both of each pair RUNS times (3), by turns, under the recorder into SPOOLS/NAME.RUN/. Needs torch and a GPU for
         each of the JOBS (1) scripts that run at once: two that share one wait for each other. RECORDER names the library.
score    compares the medians of their steps, anywhere; STALLHOUND names the program. Recoverable is what the waits cost; a
         twin also leaves out the work that fed the removed read-back, and with it the host time that led to that work
         (printed apart, and which work it is). Right: the two add up to what the twin saves, within 15% of it or 50 us a
         step, whichever is more. Scored are twins without a kernel that the script lacks, whose kernels take at most 5 us a
         step more; others are shown.
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
from concurrent.futures import ThreadPoolExecutor

TOLERANCE_RATIO, TOLERANCE_NS = 0.15, 50_000
MOST_LONGER_NS = 5_000  # a step
NEEDED_RATIO = 0.8

# From the start of the range to the end of all that was submitted in it.
TIME_SQL = """WITH m AS (SELECT start_ns s, end_ns e FROM v_range WHERE name = 'measured')
SELECT max(m.e, coalesce(max(k.end_ns), 0)) - m.s AS total_ns FROM m LEFT JOIN kernel k ON k.launch_start_ns BETWEEN m.s AND m.e"""
# Work by name, and the host time that led to it: from the end of the thread's call before to the end of the call that
# submitted it; of a copy, which may wait, to the beginning of its call.
WORK_SQL = """WITH m AS (SELECT start_ns s, end_ns e FROM v_range WHERE name = 'measured'),
calls AS (SELECT process_id, correlation_id, start_ns, end_ns,
  start_ns - lag(end_ns, 1, start_ns) OVER (PARTITION BY process_id, thread_id ORDER BY start_ns) AS lead_ns
  FROM host_call, m WHERE is_nested = 0 AND start_ns BETWEEN m.s AND m.e),
work AS (SELECT s.name, k.process_id, k.correlation_id, k.end_ns - k.start_ns AS gpu_ns, 1 AS is_kernel
  FROM kernel k JOIN v_kernel_shape s USING (kernel_shape_id)
  UNION ALL SELECT 'copy ' || direction || ' ' || coalesce(source_kind, '?') || ' ' || coalesce(target_kind, '?'),
  process_id, correlation_id, 0, 0 FROM v_copy
  UNION ALL SELECT 'memset', process_id, correlation_id, end_ns - start_ns, 1 FROM memset)
SELECT w.name, min(is_kernel) AS is_kernel, count(*) AS count, sum(gpu_ns) AS gpu_ns,
  sum(lead_ns + is_kernel * (end_ns - start_ns)) AS host_ns
FROM work w JOIN calls USING (process_id, correlation_id) GROUP BY w.name"""


def _query(capture, sql):
    done = subprocess.run([os.environ["STALLHOUND"], "query", "--format", "json", sql, capture], check=True, capture_output=True)
    return json.loads(done.stdout)


def _record(script, folder, gpu):
    """The process is forked, so that torch is imported once for all."""
    os.makedirs(folder)
    pid = os.fork()
    if pid == 0:
        os.environ.update(
            CUDA_INJECTION64_PATH=os.environ["RECORDER"],
            NVTX_INJECTION64_PATH=os.environ["RECORDER"],
            STALLHOUND_SPOOL_DIR=folder,
            CUDA_VISIBLE_DEVICES=str(gpu),
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
    with tempfile.TemporaryDirectory() as home:
        return _hunt(folder, home)


def _hunt(folder, home):
    environment = dict(os.environ, STALLHOUND_HOME=home)
    report = os.path.join(home, "hunt.json")
    command = [os.environ["STALLHOUND"], "hunt", "--range", "measured", "--format", "json", "--output", report, "--from", folder]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    capture = done.stderr.split("capture: ", 1)[1].splitlines()[0]
    with open(report, encoding="utf-8") as file:
        hunt = json.load(file)
    return {
        "total_ns": _query(capture, TIME_SQL)[0]["total_ns"],
        "work": {row.pop("name"): row for row in _query(capture, WORK_SQL)},
        "recoverable_ns": hunt["recoverable_all_ns"] or 0,
    }


def more_work(run, other):
    """What `run` has more of, by name: how much."""
    more = {name: row["count"] - other["work"].get(name, {"count": 0})["count"] for name, row in run["work"].items()}
    return {name: count for name, count in more.items() if count > 0}


def host_ns(run, work):
    """Host time that led to so much work."""
    return sum(count * run["work"][name]["host_ns"] / run["work"][name]["count"] for name, count in work.items())


def kernel_ns(run):
    return sum(row["gpu_ns"] for row in run["work"].values())


def compare(runs, fixed_runs, steps):
    run, fixed = runs[0], fixed_runs[0]
    new, gone = more_work(fixed, run), more_work(run, fixed)
    saved = (statistics.median(r["total_ns"] for r in runs) - statistics.median(r["total_ns"] for r in fixed_runs)) / steps
    left_out = statistics.median(host_ns(r, more_work(r, fixed)) for r in runs) / steps
    # What all waits of the script cost, but for those that the twin keeps.
    recoverable = statistics.median(r["recoverable_ns"] - f["recoverable_ns"] for r, f in zip(runs, fixed_runs)) / steps
    longer_ns = (kernel_ns(fixed) - kernel_ns(run)) / steps
    has_new_kernel = any(fixed["work"][name]["is_kernel"] for name in new)
    return {
        "step_ns": statistics.median(r["total_ns"] for r in runs) / steps,
        "saved_ns": saved,
        "left_out_ns": left_out,
        "recoverable_ns": recoverable,
        "is_right": abs(recoverable - (saved - left_out)) <= max(TOLERANCE_RATIO * abs(saved), TOLERANCE_NS),
        "is_scored": not has_new_kernel and longer_ns <= MOST_LONGER_NS,
        "new": {name: count / steps for name, count in new.items()},
        "gone": {name: count / steps for name, count in gone.items()},
    }


def _pairs(corpus):
    with open(os.path.join(corpus, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    pairs = [
        (entry["file"], entry["fixed_twin"])
        for entry in expected["files"]
        if entry.get("fixed_twin") and entry["variant"] == "sync" and entry["confidence"] == "measured"
    ]
    return pairs, expected["steps"]


def record(corpus, spools, runs=3):
    import torch  # noqa: F401  # once, before the forks; it does not touch CUDA

    pairs, _ = _pairs(corpus)
    queue = [(name, run) for run in range(runs) for pair in pairs for name in pair]
    running, free_gpus = {}, list(range(int(os.environ.get("JOBS", "1"))))
    while queue or running:
        while queue and free_gpus:
            name, run = queue.pop(0)
            gpu = free_gpus.pop()
            running[_record(os.path.join(corpus, name), os.path.join(spools, f"{name}.{run}"), gpu)] = (name, gpu)
        pid, status = os.wait()
        name, gpu = running.pop(pid)
        free_gpus.append(gpu)
        if status != 0:
            print(f"{name}: ended with {os.waitstatus_to_exitcode(status)}")
    return 0


def right_of_scored(rows):
    scored = [row for row in rows if row["is_scored"]]
    return sum(row["is_right"] for row in scored), len(scored)


def _recordings(spools, name):
    return sorted(os.path.join(spools, entry) for entry in os.listdir(spools) if entry.rpartition(".")[0] == name)


def score(corpus, spools):
    pairs, steps = _pairs(corpus)
    rows = []
    for name, fixed in pairs:
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as analyses:
            runs, fixed_runs = (list(analyses.map(_analyse, _recordings(spools, each))) for each in (name, fixed))
        if not runs or not fixed_runs:
            print(f"{name}: no recording")
            continue
        row = {"name": name, **compare(runs, fixed_runs, steps)}
        rows.append(row)
        verdict = ("right" if row["is_right"] else "WRONG") if row["is_scored"] else "not scored"
        print(
            f"{name:45} step {row['step_ns'] / 1e3:9.1f} us  saved {row['saved_ns'] / 1e3:8.1f}"
            f"  by work left out {row['left_out_ns'] / 1e3:8.1f}  recoverable {row['recoverable_ns'] / 1e3:8.1f}  {verdict}"
        )
        for change in ("new", "gone"):
            for work, count in row[change].items():
                print(f"    {change} in the twin: {count:g} a step of {work[:100]}")
    if "OUT" in os.environ:
        with open(os.path.join(os.environ["OUT"], "twins.json"), "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    right, scored = right_of_scored(rows)
    print(f"recoverable right in {right} of {scored} scored pairs ({len(rows)} pairs)")
    return 0 if scored and right >= NEEDED_RATIO * scored else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"] and len(sys.argv) in (4, 5):
        sys.exit(record(*sys.argv[2:4], *map(int, sys.argv[4:])))
    if sys.argv[1:2] == ["score"] and len(sys.argv) == 4:
        sys.exit(score(*sys.argv[2:]))
    sys.exit(__doc__)
