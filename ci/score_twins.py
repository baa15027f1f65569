#!/usr/bin/env python3
"""score_twins.py record FOLDER SPOOLS [PROCESSES] | score FOLDER SPOOLS: is what a hunt calls recoverable what a fixed twin saves?

FOLDER is a corpus folder as score_syncs.py reads it: scripts, and expected.json, whose entries name a `fixed_twin`.

record   runs both of each pair TURNS times by turns, each in a process of its own, PROCESSES times (3), under the recorder
         into SPOOLS/NAME.PROCESS/. A machine's speed drifts by more than a wait costs; turns a few ms apart share it. Needs
         torch and a GPU for each of the JOBS (1) pairs that run at once. RECORDER names the library.
score    compares the medians of their turns, anywhere; STALLHOUND names the program. Recoverable is what the waits cost; a
         twin also leaves out the work that fed the removed read-back, and with it the host time that led to that work
         (printed apart, and which work it is). Right: the two add up to what the twin saves, within 15% of it or 50 us a
         step, whichever is more. Scored are twins without a kernel that the script lacks, whose kernels take at most 5 us a
         step more; others are shown.
"""

import ctypes
import gc
import json
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "device"))  # in a bundle all lie together

import turns

TOLERANCE_RATIO, TOLERANCE_NS = 0.15, 50_000
MOST_LONGER_NS = 5_000  # a step
NEEDED_RATIO = 0.8
TURNS = 10

# Of each turn: from the start of the range to the end of all that was submitted in it.
TIME_SQL = """WITH m AS (SELECT start_ns s, end_ns e FROM v_range WHERE name = 'measured')
SELECT max(m.e, coalesce(max(k.end_ns), 0)) - m.s AS total_ns FROM m LEFT JOIN kernel k ON k.launch_start_ns BETWEEN m.s AND m.e
GROUP BY m.s ORDER BY m.s"""
# Of all turns: work by name, and the host time that led to it: from the end of the thread's call before to the end of the
# call that submitted it; of a copy, which may wait, to the beginning of its call.
WORK_SQL = """WITH m AS (SELECT start_ns s, end_ns e FROM v_range WHERE name = 'measured'),
calls AS (SELECT process_id, correlation_id, start_ns, end_ns,
  start_ns - lag(end_ns, 1, start_ns) OVER (PARTITION BY process_id, thread_id, m.s ORDER BY start_ns) AS lead_ns
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


def _fork(function, *args):
    """A process that only calls this. It is forked, so that torch is imported once for all."""
    pid = os.fork()
    if pid == 0:
        code = 0
        try:
            function(*args)
        except BaseException:  # whatever it is, the parent's clean-up must not run here
            traceback.print_exc()
            code = 1
        ctypes.CDLL(None).exit(code)  # so that the recorder's exit handler does
    return pid


def _serve(path, folder, gpu):
    os.environ.update(
        CUDA_INJECTION64_PATH=os.environ["RECORDER"],
        NVTX_INJECTION64_PATH=os.environ["RECORDER"],
        STALLHOUND_SPOOL_DIR=folder,
        CUDA_VISIBLE_DEVICES=str(gpu),
    )
    with open(os.path.join(folder, "log"), "wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.argv = [path]

    def turn():
        runpy.run_path(path, run_name="__main__")
        gc.collect()
        return "done"

    turns.serve(folder, turn)


class Script:
    """A script in a process of its own, which runs it once in each of its turns."""

    def __init__(self, path, folder, gpu):
        self._path = path
        os.makedirs(folder)
        self._turns = turns.Turns(folder)
        self._pid = _fork(_serve, path, folder, gpu)

    def take_turn(self):
        """False where the script failed."""
        return self._turns.take(self._pid) is not None

    def end(self):
        _, status = self._turns.end(lambda: os.waitpid(self._pid, 0))
        if status != 0:
            print(f"{os.path.basename(self._path)}: ended with {os.waitstatus_to_exitcode(status)}", flush=True)


def _record_pairs(corpus, spools, tasks, gpu):
    for pair, process in tasks:
        scripts = [Script(os.path.join(corpus, name), os.path.join(spools, f"{name}.{process}"), gpu) for name in pair]
        for _ in range(TURNS):
            if not all([script.take_turn() for script in scripts]):
                break
        for script in scripts:
            script.end()


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
    turns_ns = [row["total_ns"] for row in _query(capture, TIME_SQL)]
    work = {row.pop("name"): row for row in _query(capture, WORK_SQL)}
    return {"turns_ns": turns_ns, "work": work, "recoverable_ns": hunt["recoverable_all_ns"] or 0}


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
    steps_of_run = steps * len(run["turns_ns"])
    new, gone = more_work(fixed, run), more_work(run, fixed)
    both_ns = [turn for r, f in zip(runs, fixed_runs) for turn in zip(r["turns_ns"], f["turns_ns"])]
    saved = statistics.median(run_ns - fixed_ns for run_ns, fixed_ns in both_ns) / steps
    left_out = statistics.median(host_ns(r, more_work(r, f)) for r, f in zip(runs, fixed_runs)) / steps_of_run
    # What all waits of the script cost, but for those that the twin keeps.
    recoverable = statistics.median(r["recoverable_ns"] - f["recoverable_ns"] for r, f in zip(runs, fixed_runs)) / steps_of_run
    longer_ns = (kernel_ns(fixed) - kernel_ns(run)) / steps_of_run
    has_new_kernel = any(fixed["work"][name]["is_kernel"] for name in new)
    return {
        "step_ns": statistics.median(run_ns for run_ns, _ in both_ns) / steps,
        "saved_ns": saved,
        "left_out_ns": left_out,
        "recoverable_ns": recoverable,
        "is_right": abs(recoverable - (saved - left_out)) <= max(TOLERANCE_RATIO * abs(saved), TOLERANCE_NS),
        "is_scored": not has_new_kernel and longer_ns <= MOST_LONGER_NS,
        "new": {name: count / steps_of_run for name, count in new.items()},
        "gone": {name: count / steps_of_run for name, count in gone.items()},
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


def record(corpus, spools, processes=3):
    import torch  # noqa: F401  # once, before the forks; it does not touch CUDA

    pairs, _ = _pairs(corpus)
    tasks = [(pair, process) for process in range(processes) for pair in pairs]
    jobs = int(os.environ.get("JOBS", "1"))
    for pid in [_fork(_record_pairs, corpus, spools, tasks[gpu::jobs], gpu) for gpu in range(jobs)]:
        os.waitpid(pid, 0)
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
        if not runs or not fixed_runs or any(len(run["turns_ns"]) != TURNS for run in runs + fixed_runs):
            print(f"{name}: not scored: not all of its recordings are there and have {TURNS} turns")
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
