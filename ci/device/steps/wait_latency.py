"""How long a wait takes to return once the awaited GPU work has ended, and how long it takes when nothing is awaited:
the two measurements behind the constants of analysis/hunt. Prints one JSON object per kind of wait, times in us."""

import json
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 300
KINDS = ("stream_sync", "device_sync", "event_sync", "event_sync_blocking", "read_back", "blocking_copy", "upload")


def victim():
    import torch

    a = torch.randn(2048, 2048, device="cuda")
    scalar = torch.zeros(1, device="cuda")
    event, blocking = torch.cuda.Event(), torch.cuda.Event(blocking=True)
    pageable = torch.empty(1 << 16)
    host = torch.empty(1)
    runtime = torch.cuda.cudart()
    assert runtime is not None

    def wait_for(kind):
        if kind == "stream_sync":
            torch.cuda.current_stream().synchronize()
        elif kind == "device_sync":
            torch.cuda.synchronize()
        elif kind.startswith("event_sync"):
            chosen = blocking if kind.endswith("blocking") else event
            chosen.record()
            chosen.synchronize()
        elif kind == "read_back":
            scalar.item()
        elif kind == "blocking_copy":
            host.copy_(scalar)
        else:
            pageable.cuda()

    for kind in KINDS:
        for is_busy in (False, True):
            for _ in range(10):
                wait_for(kind)
            torch.cuda.synchronize()
            torch.cuda.nvtx.range_push(f"{kind}{'+work' if is_busy else ''}")
            for _ in range(ROUNDS):
                if is_busy:
                    torch.mm(a, a)
                wait_for(kind)
            torch.cuda.nvtx.range_pop()


def _query(capture, sql):
    out = subprocess.run(
        [os.environ["STALLHOUND"], "query", "--format", "json", sql, capture], capture_output=True, text=True, check=True
    ).stdout
    return json.loads(out)


def _summary(values_ns):
    values = sorted(value / 1000 for value in values_ns)
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))]
    return {"n": len(values), "median": round(statistics.median(values), 2), "p99": round(at(0.99), 2), "max": round(values[-1], 2)}


def _report(capture):
    calls = _query(capture, "SELECT start_ns, end_ns, api FROM v_host_call WHERE NOT is_nested AND (api_class GLOB '*-sync' OR api_class GLOB 'copy-*') ORDER BY start_ns")
    ends = sorted(
        row["end_ns"]
        for table in ("kernel", "copy")
        for row in _query(capture, f"SELECT end_ns FROM {table}")
    )
    for span in _query(capture, "SELECT name, start_ns, end_ns FROM v_range WHERE name GLOB '*_*' ORDER BY start_ns"):
        durations, returns = [], []
        for call in calls:
            if not span["start_ns"] <= call["start_ns"] < span["end_ns"]:
                continue
            inside = [end for end in ends if call["start_ns"] < end <= call["end_ns"]]
            if inside:
                returns.append((call["api"], call["end_ns"] - inside[-1]))
            else:
                durations.append((call["api"], call["end_ns"] - call["start_ns"]))
        for what, rows in (("call without work ending in it", durations), ("end of work to return", returns)):
            for api in sorted({api for api, _ in rows}):
                print(json.dumps({"range": span["name"], "api": api, "what": what, **_summary([ns for name, ns in rows if name == api])}))


def main():
    spool = tempfile.mkdtemp()
    environment = dict(os.environ, CUDA_INJECTION64_PATH=os.environ["RECORDER"], NVTX_INJECTION64_PATH=os.environ["RECORDER"], STALLHOUND_SPOOL_DIR=spool)
    subprocess.run([sys.executable, os.path.abspath(__file__), "victim"], env=environment, check=True)
    run = subprocess.run([os.environ["STALLHOUND"], "hunt", "--output", os.path.join(os.environ["OUT"], "wait_latency.txt"), "--from", spool], capture_output=True, text=True, check=True)
    capture = next(line.split("capture: ")[1] for line in run.stderr.splitlines() if "capture: " in line)
    _report(capture)
    return 0


if __name__ == "__main__":
    sys.exit(victim() if sys.argv[1:] == ["victim"] else main())
