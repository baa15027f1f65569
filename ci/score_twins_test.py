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


def work(count, gpu_ns=1000, host_ns=0, is_kernel=1):
    return {"count": count, "gpu_ns": count * gpu_ns, "host_ns": count * host_ns, "is_kernel": is_kernel}


def recording(step_us, recoverable_us=0, **rows):
    return {
        "total_ns": step_us * 1000 * STEPS,
        "work": rows or {"gemm": work(STEPS)},
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
        self.assertEqual((row["recoverable_ns"], row["saved_ns"]), (300_000, 300_000))

    def test_host_time_of_work_left_out_is_not_the_waits(self):
        run = recording(1000, 300, gemm=work(STEPS), sum=work(6 * STEPS, host_ns=50_000), copy=work(2 * STEPS, host_ns=20_000, is_kernel=0))
        row = self.compare(run, recording(480, gemm=work(STEPS), sum=work(2 * STEPS), copy=work(STEPS, is_kernel=0)))
        self.assertEqual((row["saved_ns"], row["left_out_ns"]), (520_000, 220_000))
        self.assertEqual((row["new"], row["gone"]), ({}, {"sum": 4, "copy": 1}))
        self.assertTrue(row["is_right"] and row["is_scored"])
        run["recoverable_ns"] = 400_000 * STEPS
        self.assertFalse(self.compare(run, recording(480, gemm=work(STEPS), sum=work(2 * STEPS), copy=work(STEPS, is_kernel=0)))["is_right"])

    def test_a_twin_that_does_other_work_is_not_scored(self):
        run = recording(1000, 300, nonzero=work(STEPS))
        self.assertTrue(self.compare(run, recording(700, nonzero=work(STEPS, 6000)))["is_scored"])
        self.assertFalse(self.compare(run, recording(700, nonzero=work(STEPS, 6001)))["is_scored"])
        row = self.compare(run, recording(700, nonzero=work(3 * STEPS, 300)))
        self.assertFalse(row["is_scored"])
        self.assertEqual(row["new"], {"nonzero": 2})
        pinned = recording(700, nonzero=work(STEPS), copy=work(STEPS, is_kernel=0))
        self.assertTrue(self.compare(run, pinned)["is_scored"])

    def test_recordings_belong_to_whole_names(self):
        with tempfile.TemporaryDirectory() as spools:
            for name in ("01_a.py.0", "01_a.py.1", "01_a_fixed.py.0", "x01_a.py.0"):
                os.mkdir(os.path.join(spools, name))
            found = [os.path.basename(folder) for folder in score_twins._recordings(spools, "01_a.py")]
        self.assertEqual(found, ["01_a.py.0", "01_a.py.1"])


if __name__ == "__main__":
    unittest.main()
