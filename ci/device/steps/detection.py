"""What a hunt costs a Faster R-CNN training step, beside other tools: detection.py [TURNS]

Bare, light, default, torch.profiler and Nsight Systems (where nsys is found), a process each, train by turns. Turns are short
and many: the same step takes 52 or 70 ms for seconds on end, as the machine's neighbours have it. A turn's time is the
median of its steps; what counts is the median over all turns of its ratio to the bare process' turn. Also: has every wait of
a recording a place? $OUT/detection.json.
"""

import contextlib
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

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import turns

WARMUP, STEPS, TURNS = 8, 3, 100
TURNS_APART = {"torch.profiler": 4, "nsys": 4}  # far from their limit: fewer turns tell
END_LIMIT_S = 60
LIMITS = {"light": 1.03, "default": 1.15}
OTHER_TOOLS = ("torch.profiler", "nsys")
OTHER_TOOLS_LIMIT = 1  # step time in default over the one under another tool: below it
PLACELESS_LIMIT = 0  # waits of a recording with neither a Python line nor a native symbol


def training_step():
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

    return step


def turn_of(step):
    """A turn: the median time of its steps, in ns."""
    import torch

    times = []
    torch.cuda.nvtx.range_push("measured")
    for _ in range(STEPS):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter_ns() - start)
    torch.cuda.nvtx.range_pop()
    return int(statistics.median(times))


def train(mode, folder):
    import torch

    step = training_step()
    for _ in range(WARMUP):
        step()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) if mode == "torch.profiler" else contextlib.nullcontext():
        turns.serve(folder, lambda: turn_of(step))


def nsys_program():
    found = glob.glob("/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys")
    return shutil.which("nsys") or (found[0] if found else None)


def command_of(mode, folder):
    program = [sys.executable, os.path.abspath(__file__), "train", mode, folder]
    if mode in LIMITS:
        report = os.path.join(folder, "hunt.json")
        hunt = [os.environ["STALLHOUND"], "hunt", "--range", "measured", "--mode", mode]
        return [*hunt, "--format", "json", "--output", report, "--", *program]
    if mode == "nsys":
        return [nsys_program(), "profile", "-t", "cuda,nvtx", "-s", "none", "-o", os.path.join(folder, "report"), *program]
    return program


def places_of_waits(report, steps):
    with open(report, encoding="utf-8") as file:
        sites = [site for site in json.load(file)["sites"] if site["kind"] == "wait"]
    placeless = [site for site in sites if not (site["innermost_user"] or site["native_symbol"])]
    return {
        "waits_per_step": sum(site["count"] for site in sites) / steps,
        "with_a_python_line": sum(site["count"] for site in sites if site["innermost_user"]) / steps,
        "without_any_place": sum(site["count"] for site in placeless) / steps,
    }


class Program:
    """The training under a tool, in a process of its own."""

    def __init__(self, mode, folder):
        self.folder = os.path.join(folder, mode)
        os.mkdir(self.folder)
        self._turns = turns.Turns(self.folder)
        self.log = os.path.join(self.folder, "log")
        environment = dict(os.environ, STALLHOUND_HOME=os.path.join(self.folder, "home"))
        with open(self.log, "wb") as log:
            command = command_of(mode, self.folder)
            self._child = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def step_ns(self):
        """Of one turn; None where it failed."""
        answer = self._turns.take(self._child.pid)
        return None if answer is None else int(answer)

    def _wait(self):
        """Stops what does not end: nsys may not, after its program did."""
        try:
            self._child.wait(timeout=END_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()

    def end(self):
        self._turns.end(self._wait)


def take_turns(programs, count):
    """{mode: times of its turns, in ns, None where it had none}; a program that failed has no more from then on. Of a first
    turn, in which programs start, nothing is kept."""
    times = {mode: [] for mode in programs}
    for number in range(count + 1):
        for mode in programs if number % 2 == 0 else reversed(programs):
            if len(times[mode]) < number - 1:
                continue
            is_its = number % TURNS_APART.get(mode, 1) == 0
            step_ns = programs[mode].step_ns() if is_its else None
            if step_ns is not None:
                print(f"{number:3} {mode:15} {step_ns / 1e6:7.2f} ms", flush=True)
            if number > 0 and (step_ns is not None or not is_its):
                times[mode].append(step_ns)
    return times


def ratios_to_bare(times):
    """Of modes that have a time; what drifts with the machine is in both of a turn."""
    ratios = {mode: [ns / bare for ns, bare in zip(each, times["bare"]) if ns] for mode, each in times.items()}
    return {mode: statistics.median(each) for mode, each in ratios.items() if each}


def over_other_tool(ratios, tool):
    """None if one of both is not known."""
    return ratios["default"] / ratios[tool] if {"default", tool} <= ratios.keys() else None


def main(count):
    modes = ["bare", "light", "default", "torch.profiler"] + (["nsys"] if nsys_program() else [])
    places = {}
    with tempfile.TemporaryDirectory() as folder:
        programs = {mode: Program(mode, folder) for mode in modes}
        times = take_turns(programs, count)
        for mode, program in programs.items():
            program.end()
            if len(times[mode]) < count:
                with open(program.log, encoding="utf-8", errors="replace") as log:
                    print(f"{mode}: failed after {len(times[mode])} turns: {log.read()[-1000:]}")
                continue
            report = os.path.join(program.folder, "hunt.json")
            if os.path.exists(report):
                places[mode] = places_of_waits(report, (count + 1) * STEPS)
    ratios = ratios_to_bare(times)
    with open(os.path.join(os.environ["OUT"], "detection.json"), "w", encoding="utf-8") as file:
        json.dump({"step_ns": times, "ratios": ratios, "places": places}, file, indent=1)
    print(json.dumps(places))
    print("step time over bare: " + ", ".join(f"{mode} {ratio:.3f}" for mode, ratio in ratios.items()))
    slower = [mode for mode, limit in LIMITS.items() if mode not in ratios or ratios[mode] > limit]
    others = [tool for tool in OTHER_TOOLS if (over_other_tool(ratios, tool) or 0) >= OTHER_TOOLS_LIMIT]
    placeless = [mode for mode, found in places.items() if found["without_any_place"] > PLACELESS_LIMIT]
    failed = [mode for mode, each in times.items() if len(each) < count]
    return 1 if slower or others or placeless or failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        train(*sys.argv[2:])
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS))
