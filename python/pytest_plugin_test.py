"""The marker and `pytest --stallhound`: their decisions, and pytest itself where it is installed."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import stallhound
from stallhound import _gpu, _install, _marker, _recorder, _relaunch


class FakeBudget:
    def __init__(self, was_checked=True, error=None):
        self.was_checked, self.reason, self.error = was_checked, "why", error
        self.was_abandoned = False

    def abandon(self):
        self.was_abandoned = True

    def stop(self):
        if self.error:
            raise self.error


class MarkerTest(unittest.TestCase):
    def test_kept(self):
        self.assertIsNone(_marker.after_test(FakeBudget(), has_failed=False, must_check=True))

    def test_exceeded(self):
        error = stallhound.BudgetExceeded(["budget exceeded"], {}, ["1 x wait at train.py:3"])
        self.assertIs(_marker.after_test(FakeBudget(error=error), has_failed=False, must_check=False), error)
        self.assertIn("train.py:3", str(error))

    def test_a_failed_test_fails_for_its_own_reason(self):
        budget = FakeBudget(error=AssertionError("never asked"))
        self.assertIsNone(_marker.after_test(budget, has_failed=True, must_check=True))
        self.assertTrue(budget.was_abandoned)

    def test_unchecked_is_a_warning_or_a_skip(self):
        with self.assertWarnsRegex(stallhound.NotCheckedWarning, "not checked: why"):
            self.assertIsNone(_marker.after_test(FakeBudget(was_checked=False), has_failed=False, must_check=False))
        unchecked = _marker.after_test(FakeBudget(was_checked=False), has_failed=False, must_check=True)
        self.assertIsInstance(unchecked, _marker.Unchecked)


class RelaunchTest(unittest.TestCase):
    def setUp(self):
        for module, name, value in (
            (_recorder, "asked_for", None),
            (_gpu, "missing", None),
            (_gpu, "is_initialised", False),
            (_install, "program", "/opt/stallhound"),
        ):
            self.patch(module, name, value)
        self.patch(_relaunch, "command_line", ["python", "-m", "pytest", "-x", "--stallhound"])
        patcher = mock.patch.object(sys, "argv", ["/site-packages/pytest/__main__.py", "-x", "--stallhound"])
        patcher.start()
        self.addCleanup(patcher.stop)

    def patch(self, module, name, value):
        patcher = mock.patch.object(module, name, return_value=value)
        patcher.start()
        self.addCleanup(patcher.stop)

    def test_the_same_command_under_hunt(self):
        self.assertEqual(
            _relaunch.hunt_command(),
            ["/opt/stallhound", "hunt", "--mode", "light", "--", sys.executable, "-m", "pytest", "-x", "--stallhound"],
        )

    def test_once_is_enough(self):
        self.patch(_recorder, "asked_for", "/opt/libstallhound_record.so")
        self.assertIsNone(_relaunch.hunt_command())

    def test_no_gpu_needs_no_recorder(self):
        self.patch(_gpu, "missing", "there is no GPU here")
        self.assertIsNone(_relaunch.hunt_command())

    def test_too_late(self):
        self.patch(_gpu, "is_initialised", True)
        with self.assertRaisesRegex(_relaunch.CannotRelaunch, "CUDA is initialised already.*stallhound hunt"):
            _relaunch.hunt_command()

    def test_another_program_is_not_started_again(self):
        with mock.patch.object(sys, "argv", ["/usr/bin/ide"]):
            with self.assertRaisesRegex(_relaunch.CannotRelaunch, "called by /usr/bin/ide"):
                _relaunch.hunt_command()


class CommandLineTest(unittest.TestCase):
    def test_it_is_the_kernels(self):
        code = "from stallhound import _relaunch; print(_relaunch.command_line())"
        run = subprocess.run([sys.executable, "-B", "-c", code, "a b", ""], cwd=HERE, capture_output=True, text=True, check=True)
        self.assertEqual(run.stdout.strip(), repr([sys.executable, "-B", "-c", code, "a b", ""]))

    def test_what_is_pytest(self):
        for script, expected in (("/usr/bin/pytest", True), ("/x/pytest/__main__.py", True), ("/x/app/__main__.py", False), ("", False)):
            self.assertEqual(_relaunch.is_pytest(script), expected)


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not installed")
@unittest.skipUnless(_gpu.missing(), "there is a GPU here")
class PytestTest(unittest.TestCase):
    def run_pytest(self, source):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test_marked.py"), "w", encoding="utf-8") as file:
                file.write("import pytest\n\n" + source)
            command = [sys.executable, "-m", "pytest", "-p", "stallhound.pytest_plugin", "--strict-markers", "-rs", "--stallhound"]
            return subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join([HERE, *sys.path])},
                                  capture_output=True, text=True, check=False)

    def test_marked_tests_are_skipped_with_a_sentence_without_a_gpu(self):
        run = self.run_pytest("@pytest.mark.stallhound(waits=0)\ndef test_marked(): pass\n\ndef test_other(): pass\n")
        self.assertIn("1 passed, 1 skipped", run.stdout)
        self.assertIn("stallhound: there is no GPU here", run.stdout)

    def test_a_wrong_marker_is_an_error_without_a_gpu_too(self):
        for arguments, message in (("wait=0", "unexpected keyword argument 'wait'"), ("waits='0'", "waits='0'.*whole number")):
            run = self.run_pytest(f"@pytest.mark.stallhound({arguments})\ndef test_marked(): pass\n")
            self.assertEqual(run.returncode, 1, run.stdout)
            self.assertIn("1 error", run.stdout)
            self.assertRegex(run.stdout, f"marker stallhound of test_marked.py::test_marked: .*{message}.*arguments: stallhound\\(waits=0")


if __name__ == "__main__":
    unittest.main()
