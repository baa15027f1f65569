#!/usr/bin/env python3
"""A bench without LibTorch: writes what bench/README.md promises, and misbehaves as $FAKE_BENCH (JSON) says.

Keys: calls: file that gets the arguments of each process, a JSON list a line; times_us: {id: time of an iteration}; times_us_of:
{name of the program: the same};
device: cpu or cuda; fail: {id: message}; only_in: {id: number of the one process that reports it}; in_call: number of the process, from 1, that does one of these: crash (true),
exit (code), end (code, behind a whole result), hang (true), interrupt (how many SIGINT to its parent; then it hangs), ignore (true: SIGINT and SIGTERM),
start (file that gets the numbers of itself and of a process that it starts), nohup (true: SIGHUP to its parent), cut
(true: half a result), torch_version (what it reports), replace (true: writes itself anew and takes its own place); spool: file that a recording pass copies to where the recorder would write it.
"""

import json
import os
import re
import shutil
import signal
import sys
import time

SUFFIX = "/iterations:1/manual_time"
plan = json.loads(os.environ["FAKE_BENCH"])
flags = dict(argument.lstrip("-").split("=", 1) for argument in sys.argv[1:])

with open(plan["calls"], "a+") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\n")
    calls.seek(0)
    number = len(calls.readlines())

if number == plan.get("in_call"):
    print("about to misbehave", file=sys.stderr, flush=True)
    if plan.get("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if "exit" in plan:
        sys.exit(plan["exit"])
    for number_of_signal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number_of_signal, signal.SIG_IGN if plan.get("ignore") else signal.SIG_DFL)
    if plan.get("nohup"):
        os.kill(os.getppid(), signal.SIGHUP)
    if "start" in plan:
        import subprocess  # not of every process: it takes long to load

        started = subprocess.Popen(["sleep", "60"])
        with open(plan["start"] + ".new", "w") as file:
            file.write(f"{os.getpid()} {started.pid}\n")
        os.rename(plan["start"] + ".new", plan["start"])
    for _ in range(plan.get("interrupt", 0)):
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(0.5)
    if plan.get("hang") or plan.get("interrupt"):
        time.sleep(60)

if number == plan.get("in_call") and plan.get("replace"):
    shutil.copy(sys.argv[0], sys.argv[0] + ".new")
    os.rename(sys.argv[0] + ".new", sys.argv[0])

is_cuda = plan.get("device") == "cuda"
is_recording = "stallhound_record_iterations" in flags
rows, samples = [], []
for case_id, time_us in plan.get("times_us_of", {}).get(os.path.basename(sys.argv[0]), plan["times_us"]).items():
    if not re.search(flags["benchmark_filter"], case_id + SUFFIX) or plan.get("only_in", {}).get(case_id, number) != number:
        continue
    row = {"name": case_id + SUFFIX, "run_type": "iteration", "iterations": 1, "real_time": time_us + number, "cpu_time": 1.0, "time_unit": "us"}
    if case_id in plan.get("fail", {}):
        row.update(error_occurred=True, error_message=plan["fail"][case_id])
        samples.append({"id": case_id, "error": row["error_message"]})
    else:
        row.update(bytes=4096.0, flops=600.0)
        if not is_recording:
            row.update(host_ns=500.0 + number, sample_count=10.0)
        if is_cuda:
            row.update(sm_clock_hz=1.98e9, copy_ratio=1.25, expect_kernel_count=63.0)
        samples.append({"id": case_id, "error": None, "throttle_reasons": ["sw-power-cap"] if is_cuda else None, "sm_clock_hz": [1970000000, None] if is_cuda else [None]})
    rows.append(row)

context = {"stallhound_device": plan.get("device", "cpu"), "device_name": "Fake device", "torch_version": plan.get("torch_version", "2.11.0") if number == plan.get("in_call") else "2.11.0", "num_cpus": 2}
text = json.dumps({"context": context, "benchmarks": rows})
with open(flags["benchmark_out"], "w") as out:
    out.write(text[:len(text) // 2] if number == plan.get("in_call") and plan.get("cut") else text)
with open(flags["stallhound_samples"], "w") as out:
    out.writelines(json.dumps(line) + "\n" for line in samples)
if is_recording and "spool" in plan:
    shutil.copy(plan["spool"], os.path.join(os.environ["STALLHOUND_SPOOL_DIR"], "stallhound-999999999-0a.spool"))
if number == plan.get("in_call") and "end" in plan:
    sys.exit(plan["end"])
sys.exit(3 if plan.get("fail") else 0)
