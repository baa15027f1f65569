"""The wheel as a user has it: installed by pip into a folder, with nothing of the build in reach."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

CUDA_FREE = not os.path.exists("/dev/nvidiactl")
NVTX = os.path.abspath(os.path.join("python", "testdata", "libnvtx_ranges.so"))
RECORDED = os.path.abspath(os.path.join("python", "testdata", "recorded_program.py"))


def load_wheel_module():
    spec = importlib.util.spec_from_file_location("wheel", os.path.join("ci", "package", "wheel.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PlatformTest(unittest.TestCase):
    def test_needed_glibc(self):
        needed_glibc = load_wheel_module().needed_glibc
        self.assertEqual(needed_glibc([("GLIBC", "2.2.5"), ("GLIBC", "2.14")]), 17)
        self.assertEqual(needed_glibc([("GLIBC", "2.34"), ("GLIBCXX", "3.4.29"), ("GLIBC", "2.9")]), 34)
        self.assertEqual(needed_glibc([("GLIBC", "2.34"), ("GLIBCXX", "3.4.30")]), 35)
        self.assertEqual(needed_glibc([("GLIBC", "2.34"), ("GLIBCXX", "3.4.31")]), 38)
        with self.assertRaisesRegex(ValueError, "GLIBCXX_3.4.99"):
            needed_glibc([("GLIBCXX", "3.4.99")])


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        work = tempfile.TemporaryDirectory()
        cls.addClassCleanup(work.cleanup)
        cls.work = work.name
        package = os.path.join(cls.work, "package")
        built = [os.path.abspath(path) for path in ("cli/stallhound", "record/probe/stallhound_probe", "record/libstallhound_record.so")]
        subprocess.run(["ci/package/assemble.sh", package, *built], check=True, capture_output=True)
        cls.wheels = [cls.make_wheel(package, name) for name in ("first", "second")]
        cls.site = os.path.join(cls.work, "site")
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-cache-dir", "--disable-pip-version-check"]
        subprocess.run([*install, "--target", cls.site, cls.wheels[0]], check=True, stdout=sys.stderr)

    @classmethod
    def make_wheel(cls, package, name):
        output = os.path.join(cls.work, name)
        os.mkdir(output)
        command = [sys.executable, "ci/package/wheel.py", package, "python", output]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def run_python(self, *arguments):
        environment = {"PYTHONPATH": self.site, "PATH": "/usr/bin:/bin", "HOME": self.work, "STALLHOUND_HOME": os.path.join(self.work, "home")}
        return subprocess.run([sys.executable, *arguments], cwd=self.work, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def output(self, *arguments):
        run = self.run_python(*arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.strip()

    def test_same_bytes_again(self):
        digests = []
        for wheel in self.wheels:
            with open(wheel, "rb") as file:
                digests.append(hashlib.sha256(file.read()).hexdigest())
        self.assertEqual(digests[0], digests[1])
        self.assertRegex(os.path.basename(self.wheels[0]), r"^stallhound-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl$")

    def test_the_program_passes_through(self):
        self.assertRegex(self.output("-m", "stallhound", "--version"), r"^stallhound \d+\.\d+\.\d+$")
        self.assertEqual(self.run_python("-m", "stallhound", "no-such-command").returncode, 2)

    def test_entry_points(self):
        code = (
            "import importlib.metadata as m; d = m.distribution('stallhound'); "
            "print(sorted((e.group, e.name, e.value) for e in d.entry_points), d.version, len(d.read_text('RECORD')) > 0)"
        )
        self.assertIn("('pytest11', 'stallhound', 'stallhound.pytest_plugin')", self.output("-c", code))

    def test_window_without_a_recorder(self):
        self.assertEqual(self.output("-c", "import stallhound\nwith stallhound.window('step'): print('ran')"), "ran")

    def test_budget_without_a_recorder_warns(self):
        code = "import stallhound\nwith stallhound.budget(waits=0) as budget: pass\nprint(budget.was_checked)"
        run = self.run_python("-c", code)
        self.assertEqual((run.returncode, run.stdout.strip()), (0, "False"))
        self.assertIn("NotCheckedWarning: budget not checked: ", run.stderr)

    def record(self, *options):
        run = self.run_python("-m", "stallhound", "hunt", *options, "--", sys.executable, RECORDED, NVTX)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_a_recording_sees_its_windows_while_it_runs(self):
        seen = self.record()
        self.assertEqual((seen["flushed"], seen["steps"]), (True, 3))
        counts = json.loads(self.output("-m", "stallhound", "counts", "--range", "step", "--format", "json"))
        self.assertEqual(len(counts["spans"]), 3)
        self.assertEqual(self.span_count("after"), 1)

    def test_only_windows_are_recorded_if_asked(self):
        seen = self.record("--window-api")
        self.assertEqual(seen["steps"], 3)
        self.assertEqual(self.span_count("inner"), 3)
        self.assertEqual(self.span_count("after"), 0)

    def span_count(self, name):
        """Occurrences of a range in the newest capture."""
        run = self.run_python("-m", "stallhound", "counts", "--range", name, "--format", "json")
        return len(json.loads(run.stdout)["spans"]) if run.returncode == 0 else 0

    @unittest.skipUnless(CUDA_FREE, "there is a GPU here")
    def test_budget_in_a_recording_without_a_gpu_warns(self):
        seen = self.record()
        self.assertFalse(seen["was_checked"])
        self.assertIn("the program never initialised CUDA", seen["warning"])


if __name__ == "__main__":
    unittest.main()
