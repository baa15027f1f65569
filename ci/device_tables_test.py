"""ci/device_tables.py on small results, and what ci/device/describe.py makes of a machine."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "device"), os.path.join(HERE, "device", "steps")]

import describe
import detection
import device_tables
import score_syncs

HUNT, RECORD = "analysis/hunt/README.md", "record/README.md"

DOCTOR = {
    "facts": {
        "nvml": {"devices": [{"name": "NVIDIA H200"}], "driver_version": "580.1", "cuda_version": "13.0"},
        "cupti": {"version": "13.0"},
    }
}
DEVICE = {**describe.description(DOCTOR, "2.11.0", "abc123"), "date": "2026-11-30T10:11:12+00:00"}
MACHINE = "NVIDIA H200, driver 580.1, CUDA 13.0, CUPTI 13.0, torch 2.11.0, 2026-11-30, commit abc123."

SCORE = {**dict.fromkeys(score_syncs.shares(score_syncs.Score()), [50, 50]), "recall": [49, 50], "precision": [48, 50], "false alarms": [0, 27]}
RESULTS = {
    "score.json": SCORE,
    "twins.json": [{"is_scored": True, "is_right": right} for right in (True, True, False)] + [{"is_scored": False, "is_right": True}],
    "rank_share.json": {"wait_ns": 150_000_000, "named_ns": 135_000_000},
    "detection.json": {
        "ratios": {"bare": 1, "light": 1.03, "default": 1.2, "torch.profiler": 1.5},
        "places": {"default": {"waits_per_step": 30, "without_any_place": 0.5}},
    },
    "operators.json": {"cost": {"own_us": 1.25}, "backward": {"named": 1, "sites": [{"line": 7}, {"line": None}]}},
    "overhead.json": [
        {"mode": mode, "workload": "sync", "busy": True, "on_ns": on_ns, "off_ns": 1000.0, "cost_ns": on_ns - 1000}
        for mode, on_ns in (("bare", 1001.0), ("light", 2340.0))
    ],
}
ROWS = [
    "| known waits: recall | at least 98% | 49 of 50 (98.0%) | yes | `run.sh score_syncs` |",
    "| known waits: precision | at least 98% | 48 of 50 (96.0%) | **no** | `run.sh score_syncs` |",
    "| known waits: false alarms | at most 0% | 0 of 27 (0.0%) | yes | `run.sh score_syncs` |",
    "| recoverable is what the fixed twin saves | at least 80% | 2 of 3 (66.7%) | **no** | `run.sh score_twins` |",
    "| rank 0's wait for the planted line of rank 1 | at least 90% | 135.0 of 150.0 ms (90.0%) | yes | `run.sh two_ranks` |",
    "| Faster R-CNN: step in light over bare | at most 1.03 | 1.030 | yes | `run.sh detection` |",
    "| Faster R-CNN: step in default over bare | at most 1.15 | 1.200 | **no** | `run.sh detection` |",
    "| Faster R-CNN: step in default over one under torch.profiler | below 1 | 0.800 | yes | `run.sh detection` |",
    "| Faster R-CNN: step in default over one under nsys | below 1 | not measured | - | `run.sh detection` |",
    "| Faster R-CNN: waits a step without a place, light | at most 0 | not measured | - | `run.sh detection` |",
    "| Faster R-CNN: waits a step without a place, default | at most 0 | 0.5 | **no** | `run.sh detection` |",
    "| own cost of an operator under `--operators` | at most 1.5 us | 1.25 us | yes | `run.sh operators` |",
    "| sites of a backward with a forward line | at least 100% | 1 of 2 (50.0%) | **no** | `run.sh operators` |",
]
COSTS = f"""| calls | mode | recorded, us | not recorded, us | cost, us | bare process, us |
|---|---|---|---|---|---|
| sync, busy | light | 2.34 | 1.00 | 1.34 | 1.00 |

- overhead: {MACHINE}"""


def marked(name, text=""):
    return f"# folder\n\n<!-- {name}: begin. Generated. -->\n{text}<!-- {name}: end -->\n\nMore.\n"


class DeviceTablesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.plant(HUNT, marked("hunt", "| an old number |\n"))
        self.plant(RECORD, marked("overhead", "old\n\nolder\n"))

    def plant(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def plant_results(self, folder, device, results):
        for name, content in {"device.json": device, **results}.items():
            self.plant(f"{folder}/{name}", json.dumps(content))

    def run_on(self, *folders, options=()):
        """(exit code, what it said)"""
        paths = [os.path.join(self.root, folder) for folder in folders]
        with contextlib.redirect_stderr(io.StringIO()) as error:
            code = device_tables.main([*paths, "--root", self.root, *options])
        return code, error.getvalue()

    def assert_refused(self, *folders, because):
        before = self.read(HUNT), self.read(RECORD)
        code, error = self.run_on(*folders)
        self.assertEqual(code, 3)
        self.assertRegex(error, because)
        self.assertEqual((self.read(HUNT), self.read(RECORD)), before)

    def test_every_figure_is_held_against_its_limit(self):
        self.plant_results("out", DEVICE, RESULTS)
        self.assertEqual(self.run_on("out"), (0, ""))
        hunt = self.read(HUNT)
        for row in ROWS:
            self.assertIn(row + "\n", hunt)
        self.assertNotIn("an old number", hunt)
        self.assertTrue(hunt.endswith(f"\n- score_syncs, score_twins, two_ranks, detection, operators: {MACHINE}\n<!-- hunt: end -->\n\nMore.\n"))
        self.assertEqual(self.read(RECORD), "# folder\n\n<!-- overhead: begin. Generated. -->\n" + COSTS + "\n<!-- overhead: end -->\n\nMore.\n")
        self.assertEqual(self.run_on("out"), (0, ""))
        self.assertEqual(self.read(HUNT), hunt)

    def test_what_is_missing_is_not_measured(self):
        self.assertEqual(self.run_on(), (0, ""))
        rows = [line.split(" | ") for line in self.read(HUNT).splitlines() if "`run.sh " in line]
        self.assertEqual(len(rows), len(device_tables.figures()))
        self.assertEqual({tuple(row[2:4]) for row in rows}, {("not measured", "-")})
        self.assertEqual(self.read(RECORD), marked("overhead", "Not measured.\n"))

    def test_a_share_of_nothing_reaches_nothing(self):
        self.plant_results("out", DEVICE, {"score.json": {**SCORE, "recall": [0, 0]}})
        self.assertEqual(self.run_on("out"), (0, ""))
        self.assertIn("| known waits: recall | at least 98% | 0 of 0 | - |", self.read(HUNT))

    def test_of_several_folders_the_last_counts_and_each_machine_is_named(self):
        two = {**DEVICE, "devices": ["NVIDIA H200"] * 2, "cupti_version": None}
        self.plant_results("one", DEVICE, {"rank_share.json": {"wait_ns": 1, "named_ns": 0}, "score.json": SCORE})
        self.plant_results("two", two, {"rank_share.json": RESULTS["rank_share.json"]})
        self.assertEqual(self.run_on("one", "two", options=["--commit", "def456"]), (0, ""))
        hunt = self.read(HUNT)
        self.assertIn("135.0 of 150.0 ms", hunt)
        self.assertIn(f"\n- score_syncs: {MACHINE.replace('abc123', 'def456')}\n", hunt)
        self.assertIn("\n- two_ranks: 2 x NVIDIA H200, driver 580.1, CUDA 13.0, CUPTI unknown, torch 2.11.0, 2026-11-30, commit def456.\n", hunt)

    def test_refuses_results_of_an_unknown_machine(self):
        self.plant("out/score.json", json.dumps(SCORE))
        self.assert_refused("out", because=r"No such file.*device\.json")
        self.plant_results("out", {**DEVICE, "devices": []}, {})
        self.assert_refused("out", because=r"device\.json.*it names no GPU")
        self.plant_results("out", {**DEVICE, "commit": None}, {})
        self.assert_refused("out", because="it names no commit; say --commit")

    def test_refuses_what_no_step_writes(self):
        for name in RESULTS:
            for content in ("", "{", "[1]", "null", '{"ratios": 1, "recall": "all"}'):
                with self.subTest(name=name, content=content):
                    self.plant_results("out", DEVICE, RESULTS)
                    self.plant(f"out/{name}", content)
                    self.assert_refused("out", because=rf"{name} is not what the step writes: \w+Error")

    def test_leaves_readmes_without_marks_alone(self):
        for path, name in ((HUNT, "hunt"), (RECORD, "overhead")):
            with self.subTest(path=path):
                readme = self.read(path)
                self.plant(path, f"<!-- {name}: end -->\n<!-- {name}: begin -->\n")
                self.assert_refused(because=rf"{path}: it needs a line `<!-- {name}: begin -->`")
                self.plant(path, readme)


class StepsTest(unittest.TestCase):
    """What the steps judge is what the table says."""

    def test_score_reaches_its_limits(self):
        for share, expected in (((98, 100), True), ((97, 100), False)):
            self.assertEqual(score_syncs.is_reached("recall", *share), expected)
        for share, expected in (((0, 27), True), ((1, 27), False)):
            self.assertEqual(score_syncs.is_reached(score_syncs.FALSE_ALARMS, *share), expected)

    def test_another_tool_that_was_not_there_is_unknown(self):
        self.assertEqual(detection.over_other_tool({"default": 1.2, "nsys": 1.5}, "nsys"), 1.2 / 1.5)
        self.assertIsNone(detection.over_other_tool({"default": 1.2}, "nsys"))
        self.assertIsNone(detection.over_other_tool({"nsys": 1.2}, "nsys"))


if __name__ == "__main__":
    unittest.main()
