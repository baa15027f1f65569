"""What a hunt costs a Faster R-CNN training step, beside other tools: detection.py [ROUNDS]

Bare, light, default, torch.profiler and Nsight Systems (where nsys is found) by turns, a fresh process each; the median of
its steps, then of the processes. Also: has every wait of a recording a place? $OUT/detection.json.
"""

import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

WARMUP, STEPS = 8, 40
LIMITS = {"light": 1.03, "default": 1.15}
OTHER_TOOLS = ("torch.profiler", "nsys")
OTHER_TOOLS_LIMIT = 1  # step time in default over the one under another tool: below it
PLACELESS_LIMIT = 0  # waits of a recording with neither a Python line nor a native symbol


def train(profiler):
    import torch
    import torchvision

    torch.manual_seed(0)
    device = torch.device("cuda")
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None).to(device).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    images = [torch.rand(3, 480, 640, device=device) for _ in range(2)]
    boxes = torch.tensor([[40.0, 60.0, 200.0, 220.0], [300.0, 100.0, 420.0, 400.0]], device=device)
    targets = [{"boxes": boxes, "labels": torch.tensor([1, 2], device=device)} for _ in images]

    def step():
        loss = sum(model(images, targets).values())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    def timed_steps():
        times = []
        for _ in range(STEPS):
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            step()
            torch.cuda.synchronize()
            times.append(time.perf_counter_ns() - start)
        return times

    for _ in range(WARMUP):
        step()
    torch.cuda.nvtx.range_push("measured")
    if profiler:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]):
            times = timed_steps()
    else:
        times = timed_steps()
    torch.cuda.nvtx.range_pop()
    print(json.dumps({"step_ns": statistics.median(times)}), flush=True)


def nsys_program():
    found = glob.glob("/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys")
    return shutil.which("nsys") or (found[0] if found else None)


def command_of(mode, folder):
    program = [sys.executable, os.path.abspath(__file__), "train", str(int(mode == "torch.profiler"))]
    if mode in LIMITS:
        report = os.path.join(folder, "hunt.json")
        hunt = [os.environ["STALLHOUND"], "hunt", "--range", "measured", "--mode", mode]
        return [*hunt, "--format", "json", "--output", report, "--", *program]
    if mode == "nsys":
        return [nsys_program(), "profile", "-t", "cuda,nvtx", "-s", "none", "-o", os.path.join(folder, "report"), *program]
    return program


def waits_without_a_line(report):
    with open(report, encoding="utf-8") as file:
        sites = [site for site in json.load(file)["sites"] if site["kind"] == "wait"]
    placeless = [site for site in sites if not (site["innermost_user"] or site["native_symbol"])]
    return {
        "waits_per_step": sum(site["count"] for site in sites) / STEPS,
        "with_a_python_line": sum(site["count"] for site in sites if site["innermost_user"]) / STEPS,
        "without_any_place": sum(site["count"] for site in placeless) / STEPS,
    }


def run(command, environment, limit_s):
    """What it printed, even if it had to be stopped: nsys may not come to an end after its program did."""
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        return child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.communicate()


def measure(mode):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, STALLHOUND_HOME=os.path.join(folder, "home"))
        out, err = run(command_of(mode, folder), environment, 45)
        lines = [line for line in out.splitlines() if line.startswith("{")]
        if not lines:
            print(f"{mode}: no result: {err[-1000:]}")
            return None, None
        report = os.path.join(folder, "hunt.json")
        return json.loads(lines[-1])["step_ns"], waits_without_a_line(report) if os.path.exists(report) else None


def over_other_tool(ratios, tool):
    """None if one of both is not known."""
    return ratios["default"] / ratios[tool] if {"default", tool} <= ratios.keys() else None


def main(rounds):
    modes = ["bare", "light", "default", "torch.profiler"] + (["nsys"] if nsys_program() else [])
    times, places = {mode: [] for mode in modes}, {}
    for number in range(rounds):
        for mode in modes if number % 2 == 0 else reversed(modes):
            step_ns, found = measure(mode)
            if step_ns is not None:
                times[mode].append(step_ns)
                print(f"{mode:15} {step_ns / 1e6:7.2f} ms", flush=True)
            if found:
                places[mode] = found
    medians = {mode: statistics.median(found) for mode, found in times.items() if found}
    ratios = {mode: median / medians["bare"] for mode, median in medians.items()}
    with open(os.path.join(os.environ["OUT"], "detection.json"), "w", encoding="utf-8") as file:
        json.dump({"step_ns": times, "ratios": ratios, "places": places}, file, indent=1)
    print(json.dumps(places))
    print("step time over bare: " + ", ".join(f"{mode} {ratio:.3f}" for mode, ratio in ratios.items()))
    slower = [mode for mode, limit in LIMITS.items() if mode not in ratios or ratios[mode] > limit]
    others = [tool for tool in OTHER_TOOLS if (over_other_tool(ratios, tool) or 0) >= OTHER_TOOLS_LIMIT]
    placeless = [mode for mode, found in places.items() if found["without_any_place"] > PLACELESS_LIMIT]
    return 1 if slower or others or placeless else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        train(sys.argv[2] == "1")
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
