"""What score_twins.py concludes from recordings of pairs."""

import contextlib
import importlib.util
import io
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
        "turns_ns": [step_us * 1000 * STEPS],
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

    def test_turns_share_the_speed_of_the_machine(self):
        run, fixed = recording(0, 3 * 500), recording(0)
        run["turns_ns"] = [us * 1000 * STEPS for us in (1000, 9000, 3000)]
        fixed["turns_ns"] = [us * 1000 * STEPS for us in (500, 3000, 2500)]
        row = self.compare(run, fixed)
        self.assertEqual((row["step_ns"], row["saved_ns"], row["recoverable_ns"]), (3_000_000, 500_000, 500_000))

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

    def record(self, folder, script, twin):
        os.environ["RECORDER"] = "recorder.so"
        for name, text in (("a.py", script), ("a_fixed.py", twin)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            score_twins._record_pairs(folder, os.path.join(folder, "spools"), [(("a.py", "a_fixed.py"), 7)], 3)
        logs = {}
        for name in ("a.py", "a_fixed.py"):
            with open(os.path.join(folder, "spools", f"{name}.7", "log"), encoding="utf-8") as file:
                logs[name] = file.read()
        return printed.getvalue(), logs

    def test_scripts_take_turns_in_a_process_each(self):
        note = """import os
with open(os.path.join(os.path.dirname(__file__), "turns"), "a") as file:
    print(os.path.basename(__file__), os.getpid(), file=file)
os.write(1, f"{os.environ['CUDA_INJECTION64_PATH']} {os.environ['CUDA_VISIBLE_DEVICES']}\\n".encode())
"""
        with tempfile.TemporaryDirectory() as folder:
            printed, logs = self.record(folder, note, note)
            with open(os.path.join(folder, "turns"), encoding="utf-8") as file:
                turns = [line.split() for line in file]
        self.assertEqual([name for name, _ in turns], ["a.py", "a_fixed.py"] * score_twins.TURNS)
        self.assertEqual(len({pid for _, pid in turns} | {str(os.getpid())}), 3)
        self.assertEqual(printed, "")
        self.assertEqual(logs["a_fixed.py"], "recorder.so 3\n" * score_twins.TURNS)

    def test_a_script_that_fails_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            printed, logs = self.record(folder, "pass", "raise ValueError('no GPU')")
        self.assertEqual(printed, "a_fixed.py: ended with 1\n")
        self.assertIn("ValueError: no GPU", logs["a_fixed.py"])

    def test_recordings_belong_to_whole_names(self):
        with tempfile.TemporaryDirectory() as spools:
            for name in ("01_a.py.0", "01_a.py.1", "01_a_fixed.py.0", "x01_a.py.0"):
                os.mkdir(os.path.join(spools, name))
            found = [os.path.basename(folder) for folder in score_twins._recordings(spools, "01_a.py")]
        self.assertEqual(found, ["01_a.py.0", "01_a.py.1"])


if __name__ == "__main__":
    unittest.main()
