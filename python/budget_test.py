"""Windows and budgets with a fake recorder, and counts from a recording of an H200."""

import copy
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import stallhound
from stallhound import _budget, _counts, _gpu, _install, _recorder

PROGRAM = os.path.abspath(os.path.join("cli", "stallhound"))
SPOOL = os.path.join("examples", "recorded", "pytorch.spool.zst")


class FakeRecorder:
    def __init__(self):
        self.log = []
        self.answers = True

    def start_window(self, name):
        self.log.append(f"window {name}")

    def stop_window(self):
        self.log.append("window end")

    def start_range(self, name):
        self.log.append(f"range {name}")
        return len(self.log)

    def end_range(self, range_id):
        self.log.append(f"end {range_id}")

    def flush(self, limit_s):
        self.log.append("flush")
        return self.answers


def recorder_is(recorder):
    return mock.patch.object(_recorder, "loaded", return_value=recorder)


def window_api(value):
    return mock.patch.dict(os.environ, {"STALLHOUND_WINDOW_API": value})


class WindowTest(unittest.TestCase):
    def test_without_a_recorder_nothing_happens(self):
        with recorder_is(None), stallhound.window("step"):
            pass

    def test_it_is_a_range(self):
        recorder = FakeRecorder()
        with recorder_is(recorder), window_api(""), stallhound.window("step"):
            pass
        self.assertEqual(recorder.log, ["range step", "end 1"], "a window's end would end the recording of everything")

    def test_nested_windows_are_one_where_only_windows_are_recorded(self):
        recorder = FakeRecorder()
        with recorder_is(recorder), window_api("1"), stallhound.window("outer"), stallhound.window("inner"):
            pass
        self.assertEqual(recorder.log, ["window outer", "range outer", "range inner", "end 3", "end 2", "window end"])

    def test_a_name_that_cannot_be_recorded_raises_without_a_recorder_too(self):
        for name, error in ((None, TypeError), (3, TypeError), ("", ValueError), ("a\0b", ValueError), ("\ud800", ValueError)):
            with recorder_is(None), self.assertRaisesRegex(error, "^window\\(.*a name is"):
                stallhound.window(name)

    def test_decorator_makes_a_window_of_each_call(self):
        @stallhound.window("countdown")
        def countdown(number):
            return countdown(number - 1) + 1 if number else 0

        recorder = FakeRecorder()
        with recorder_is(recorder), window_api(""):
            self.assertEqual(countdown(1), 1)
        self.assertEqual(recorder.log, ["range countdown", "range countdown", "end 2", "end 1"])

    def test_decorating_a_generator_is_an_error(self):
        def generator():
            yield

        with self.assertRaisesRegex(TypeError, "use `with` inside"):
            stallhound.window("step")(generator)


class BudgetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("zstd") is None:
            raise unittest.SkipTest("zstd, which unpacks the recording, is not installed")
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"STALLHOUND_BIN": PROGRAM}):
            spool = os.path.join(folder, "pytorch.spool")
            subprocess.run(["zstd", "-dqf", os.path.realpath(SPOOL), "-o", spool], check=True)
            cls.report = _counts.of_range([spool], "measured")
            with cls().assertRaisesRegex(_counts.NotCounted, "no such range"):
                _counts.of_range([spool], "not there")

    def check(self, report=None, recorder=None, **limits):
        with mock.patch.object(_counts, "of_range", return_value=report or self.report) as of_range:
            with recorder_is(recorder or FakeRecorder()), mock.patch.object(_gpu, "wait"):
                budget = stallhound.budget(**limits)
                with budget:
                    pass
        self.assertRegex(of_range.call_args[0][1], r"^budget \d+$")
        return budget

    def reason(self, **arguments):
        with self.assertWarns(stallhound.NotCheckedWarning) as caught:
            budget = self.check(**arguments)
        self.assertFalse(budget.was_checked)
        self.assertIsNone(budget.counts)
        self.assertEqual(str(caught.warning), f"budget not checked: {budget.reason}")
        self.assertEqual(caught.filename, __file__)
        return budget.reason

    def test_exceeded_names_the_lines(self):
        with self.assertRaises(stallhound.BudgetExceeded) as caught:
            self.check(waits=99)
        self.assertEqual(caught.exception.counts["wait"], 100)
        lines = str(caught.exception).splitlines()
        self.assertEqual(lines[0], "budget exceeded: 100 waits, at most 99 allowed")
        self.assertIn("  20 x wait at examples/train.py:22 in step (cudaStreamSynchronize)", lines)
        self.assertEqual(len(lines), 6)

    def test_kept(self):
        budget = self.check(waits=100, loads=0, sync_points=100)
        self.assertTrue(budget.was_checked)
        self.assertIsNone(budget.reason)
        self.assertEqual(budget.counts["wait"], 100)

    def test_every_limit_is_compared(self):
        counts = {"wait": 1, "pageable-copy": 2, "allocator": 3, "loader": 4}
        limits = {"waits": 0, "pageable_copies": 1, "allocations": 2, "loads": 3, "sync_points": 9}
        self.assertEqual([sentence.split(": ")[1].split(",")[0] for sentence in _budget.exceeded(limits, counts)],
                         ["1 wait", "2 pageable copies", "3 allocations", "4 loads", "10 sync points"])
        self.assertEqual(_budget.exceeded({name: limit + 1 for name, limit in limits.items()}, counts), [])

    def test_lost_records_are_no_pass(self):
        report = copy.deepcopy(self.report)
        report["losses"] = [{"id": "gpu-side-lost", "meaning": "another profiler took CUPTI over", "affects_counts": True}]
        self.assertIn("another profiler took CUPTI over", self.reason(report=report, waits=1000))

    def test_nothing_of_cuda_recorded_is_no_pass(self):
        report = copy.deepcopy(self.report)
        report["total"]["sync_points"], report["notes"] = None, ["the program never initialised CUDA"]
        self.assertEqual(self.reason(report=report), "the program never initialised CUDA")

    def test_no_answer_is_no_pass(self):
        recorder = FakeRecorder()
        recorder.answers = False
        with recorder_is(recorder), mock.patch.object(_gpu, "wait"), self.assertWarns(stallhound.NotCheckedWarning):
            with stallhound.budget() as budget:
                pass
        self.assertEqual((budget.was_checked, budget.reason), (False, "the recorder did not answer within 30 s"))

    def test_no_recorder_and_no_gpu_are_said(self):
        for missing, expected in (("there is no GPU here: why", "there is no GPU here"), (None, "the recorder is not in this process")):
            with self.subTest(missing), mock.patch.object(_gpu, "missing", return_value=missing), recorder_is(None):
                with mock.patch.object(_recorder, "asked_for", return_value=None):
                    with self.assertWarnsRegex(stallhound.NotCheckedWarning, expected), stallhound.budget() as budget:
                        pass
                self.assertFalse(budget.was_checked)

    def test_an_exception_of_the_block_goes_through_unchecked(self):
        recorder = FakeRecorder()
        with recorder_is(recorder), self.assertRaises(KeyError):
            with stallhound.budget() as budget:
                raise KeyError
        self.assertFalse(budget.was_checked)
        self.assertEqual(len(recorder.log), 2, "the range was ended")

    def test_limits_are_checked(self):
        for limits in ({"waits": -1}, {"waits": True}, {"waits": "0"}, {"waits": None}):
            with self.subTest(limits), self.assertRaises(ValueError):
                stallhound.budget(**limits)


class RecorderTest(unittest.TestCase):
    def test_asked_for(self):
        for variables, expected in (
            ({}, None),
            ({"CUDA_INJECTION64_PATH": "/opt/tool/libother.so"}, None),
            ({"NVTX_INJECTION64_PATH": "/opt/s/libstallhound_record.so"}, "/opt/s/libstallhound_record.so"),
        ):
            with mock.patch.dict(os.environ, variables, clear=True):
                self.assertEqual(_recorder.asked_for(), expected)

    def test_asked_for_but_not_loaded(self):
        with mock.patch.dict(os.environ, {"NVTX_INJECTION64_PATH": "/nowhere/libstallhound_record.so"}):
            self.assertIsNone(_recorder.loaded())

    def test_program_that_cannot_be_run(self):
        with mock.patch.dict(os.environ, {"STALLHOUND_BIN": "/nowhere/stallhound"}):
            with self.assertRaisesRegex(_install.NotInstalled, "STALLHOUND_BIN is '/nowhere/stallhound'"):
                _install.program()


if __name__ == "__main__":
    unittest.main()
