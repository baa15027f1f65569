"""How device/steps/detection.py measures: programs by turns, on small ones instead of a training."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "device", "steps")
sys.path.insert(0, STEPS)

import detection

# Answers with the times of FOLDER/times, then fails.
PROGRAM = f"""
import os, sys
sys.path.insert(0, {os.path.dirname(STEPS)!r})
import turns
times = open(os.path.join(sys.argv[1], "times")).read().split()
def turn():
    if not times:
        raise ValueError("out of memory")
    return times.pop(0)
turns.serve(sys.argv[1], turn)
"""


class TurnsTest(unittest.TestCase):
    def setUp(self):
        self.command_of, self.nsys_program = detection.command_of, detection.nsys_program
        self.turns_apart = detection.TURNS_APART
        detection.nsys_program = lambda: None

    def tearDown(self):
        detection.command_of, detection.nsys_program = self.command_of, self.nsys_program
        detection.TURNS_APART = self.turns_apart

    def run_with(self, times_ms, turns):
        """What main() returned, printed and wrote, where programs answer with these times."""

        def command_of(mode, folder):
            with open(os.path.join(folder, "times"), "w", encoding="ascii") as file:
                print(*(int(ms * 1e6) for ms in times_ms[mode]), file=file)
            return [sys.executable, "-c", PROGRAM, folder]

        detection.command_of = command_of
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as out:
            os.environ["OUT"] = out
            with contextlib.redirect_stdout(printed):
                code = detection.main(turns)
            with open(os.path.join(out, "detection.json"), encoding="utf-8") as file:
                return code, printed.getvalue(), json.load(file)

    def test_a_machine_that_drifts(self):
        times = {
            "bare": [9, 50, 100, 60],
            "light": [9, 51, 102, 61.2],
            "default": [9, 55, 112, 66],
            "torch.profiler": [90, 130],
        }
        detection.TURNS_APART = {"torch.profiler": 2}
        code, _, found = self.run_with(times, 3)
        self.assertEqual(code, 0)
        self.assertEqual(found["ratios"], {"bare": 1, "light": 1.02, "default": 1.1, "torch.profiler": 1.3})
        self.assertEqual(found["step_ns"]["bare"], [50_000_000, 100_000_000, 60_000_000])  # the first turn starts programs
        times["default"] = [9, 58, 116, 66]
        self.assertEqual(self.run_with(times, 3)[0], 1)

    def test_a_program_that_fails_is_named_and_has_no_more_turns(self):
        detection.TURNS_APART = {}
        times = {"bare": [1] * 4, "light": [1, 1, 1], "default": [1] * 4, "torch.profiler": [2] * 4}
        code, printed, found = self.run_with(times, 3)
        self.assertEqual((code, len(found["step_ns"]["light"]), len(found["step_ns"]["default"])), (1, 2, 3))
        self.assertRegex(printed, "light: failed after 2 turns: [^{]*ValueError: out of memory")
        times["light"] = []
        _, _, found = self.run_with(times, 3)
        self.assertEqual(found["step_ns"]["light"], [])
        self.assertNotIn("light", found["ratios"])


if __name__ == "__main__":
    unittest.main()
