"""The package with the real recorder, which a fake CUDA driver loads; CUPTI is left alone, so nothing is counted."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDER = os.path.abspath(os.path.join("record", "libstallhound_record.so"))
HAS_PYTEST = importlib.util.find_spec("pytest") is not None
NOT_COUNTED = "CUPTI was left to another profiler"

BUDGET = """
import ctypes, stallhound
from stallhound import _gpu, _recorder
assert not _gpu.is_initialised() and _recorder.loaded() is None
with stallhound.budget(waits=0) as budget:
    pass
assert _gpu.is_initialised() == (_recorder.loaded() is not None)
print(budget.was_checked, ctypes.c_int.in_dll(ctypes.CDLL("libcuda.so.1"), "fake_waits").value, budget.reason)
"""
MARKED = """
import pytest

@pytest.mark.stallhound(waits=0)
def test_marked(): pass

def test_other(): pass
"""
COUNTED = """
from stallhound import _counts

FRAME = {"file": "train.py", "line": 3, "function": "step", "module": None}
SITE = {"kind": "wait", "count": 2, "apis": ["cudaStreamSynchronize"], "innermost_user": FRAME, "native_symbol": None}
KINDS = {"wait": 2, "pageable-copy": 0, "allocator": 0, "loader": 0}
_counts.of_range = lambda spools, name: {"total": {"sync_points": KINDS}, "sites": [SITE], "losses": [], "notes": []}
"""


class DriverTest(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name
        shutil.copy(os.path.join("python", "testdata", "libfake_cuda.so"), os.path.join(self.work, "libcuda.so.1"))
        self.environment = {
            **os.environ,
            "LD_LIBRARY_PATH": self.work,
            "PYTHONPATH": os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])]),
            "PYTHONWARNINGS": "ignore",
            "STALLHOUND_BIN": os.path.abspath(os.path.join("cli", "stallhound")),
            "STALLHOUND_HOME": os.path.join(self.work, "home"),
            "STALLHOUND_RECORDER": RECORDER,
            "STALLHOUND_YIELD_TO_PROFILER": "1",
        }

    def run_python(self, *arguments, **variables):
        environment = {**self.environment, **variables}
        return subprocess.run([sys.executable, *arguments], cwd=self.work, env=environment, capture_output=True, text=True, check=False)

    def run_budget(self, **variables):
        run = self.run_python("-c", BUDGET, **variables)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.strip()

    def test_a_budget_loads_the_recorder_and_waits_for_the_gpu_in_use(self):
        said = self.run_budget(CUDA_INJECTION64_PATH=RECORDER)
        self.assertRegex(said, f"^False 1 .*{NOT_COUNTED}")

    def test_a_driver_that_fails_is_no_gpu(self):
        said = self.run_budget(CUDA_INJECTION64_PATH=RECORDER, FAKE_CUDA_ERROR="100")
        self.assertEqual(said, "False 0 there is no GPU here: cuInit returned 100")

    def run_pytest(self, *options, conftest=""):
        for name, text in (("test_marked.py", MARKED), ("conftest.py", conftest)):
            with open(os.path.join(self.work, name), "w", encoding="utf-8") as file:
                file.write(text)
        return self.run_python("-m", "pytest", "-p", "stallhound.pytest_plugin", "--strict-markers", "-rs", *options)

    @unittest.skipUnless(HAS_PYTEST, "pytest is not installed")
    def test_pytest_starts_itself_again_under_hunt(self):
        run = self.run_pytest("--stallhound")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("1 passed, 1 skipped", run.stdout)
        self.assertRegex(" ".join(run.stdout.split()), f"stallhound: not checked: .*{NOT_COUNTED}")
        self.assertIn("stallhound: capture: ", run.stderr)

    @unittest.skipUnless(HAS_PYTEST, "pytest is not installed")
    def test_the_marker_fails_a_test_with_the_line(self):
        run = self.run_pytest("--stallhound", conftest=COUNTED)
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("1 failed, 1 passed", run.stdout)
        self.assertIn("BudgetExceeded: budget exceeded: 2 waits, at most 0 allowed", run.stdout)
        self.assertIn("2 x wait at train.py:3 in step (cudaStreamSynchronize)", run.stdout)

    @unittest.skipUnless(HAS_PYTEST, "pytest is not installed")
    def test_without_the_recorder_the_marker_warns(self):
        run = self.run_pytest("-W", "default", conftest=COUNTED)
        self.assertIn("2 passed, 1 warning", run.stdout)
        self.assertIn("NotCheckedWarning: budget not checked: the recorder is not in this process", run.stdout)


if __name__ == "__main__":
    unittest.main()
