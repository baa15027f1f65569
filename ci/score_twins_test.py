"""What score_twins.py concludes from recordings of pairs."""

import importlib.util
import os
import tempfile
import unittest

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "score_twins.py")
_SPEC = importlib.util.spec_from_file_location("score_twins", _PATH)
score_twins = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(score_twins)

STEPS = 20


def recording(step_us, recoverable_us=0, kernels=None):
    return {
        "total_ns": step_us * 1000 * STEPS,
        "kernels": kernels or {"gemm": (STEPS, STEPS * 10_000)},
        "recoverable_ns": recoverable_us * 1000 * STEPS,
    }


class ScoreTwinsTest(unittest.TestCase):
    def compare(self, run, fixed):
        return score_twins.compare([run], [fixed], STEPS)

    def test_within_the_tolerance_is_right(self):
        self.assertTrue(self.compare(recording(1000, 575), recording(500))["is_right"])
        self.assertFalse(self.compare(recording(1000, 576), recording(500))["is_right"])
        self.assertFalse(self.compare(recording(1000, 424), recording(500))["is_right"])
        self.assertTrue(self.compare(recording(1000, 150), recording(900))["is_right"])  # 50 us
        self.assertFalse(self.compare(recording(1000, 151), recording(900))["is_right"])

    def test_waits_that_the_twin_keeps_do_not_count(self):
        row = self.compare(recording(1000, 500), recording(700, 200))
        self.assertEqual(row["recoverable_ns"], 300_000)
        self.assertEqual(row["measured_ns"], 300_000)

    def test_a_twin_that_does_other_work_is_not_scored(self):
        run = recording(1000, 300, {"nonzero": (STEPS, STEPS * 1000), "item": (STEPS, STEPS * 1000)})
        row = self.compare(run, recording(700, kernels={"nonzero": (STEPS, STEPS * 1000)}))
        self.assertTrue(row["is_scored"])
        self.assertEqual((row["new_kernels"], row["gone_kernels"]), ({}, {"item": 1}))
        row = self.compare(run, recording(700, kernels={"nonzero": (3 * STEPS, STEPS * 1000)}))
        self.assertFalse(row["is_scored"])
        self.assertEqual(row["new_kernels"], {"nonzero": 2})
        self.assertFalse(self.compare(run, recording(700, kernels={"nonzero": (STEPS, STEPS * 7001)}))["is_scored"])

    def test_recordings_belong_to_whole_names(self):
        with tempfile.TemporaryDirectory() as spools:
            for name in ("01_a.py.0", "01_a.py.1", "01_a_fixed.py.0", "x01_a.py.0"):
                os.mkdir(os.path.join(spools, name))
            found = [os.path.basename(folder) for folder in score_twins._recordings(spools, "01_a.py")]
        self.assertEqual(found, ["01_a.py.0", "01_a.py.1"])


if __name__ == "__main__":
    unittest.main()
