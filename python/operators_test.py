"""The start-up hook of `hunt --operators`, with a torch that is only as much as the hook sees, and with the real one."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(os.path.join("cli", "stallhound"))
HOOK = os.path.abspath(os.path.join("python", "startup"))
FAKE_TORCH = os.path.abspath(os.path.join("python", "testdata", "fake_torch"))
NVTX = os.path.abspath(os.path.join("python", "testdata", "libnvtx_ranges.so"))
REAL_TORCH = os.environ.get("STALLHOUND_TEST_TORCH") or os.path.expanduser("~/.cache/stallhound/torch")

THREE_OPERATORS = """
import threading, torch
def forward():
    torch.operator("aten::relu", 41)
    torch.operator("aten::index", 42)
    torch.operator("aten::empty")
forward()
with torch.autograd.profiler.profile():
    torch.operator("aten::hidden", 43)
thread = threading.Thread(target=torch.operator, args=("aten::other", 7))
thread.start()
thread.join()
"""


class OperatorsTest(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name

    def write(self, name, text):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_with(self, path, command, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": self.work, "PYTHONPATH": os.pathsep.join(path), "NVTX_LIBRARY": NVTX}
        environment["STALLHOUND_HOME"] = os.path.join(self.work, "home")
        environment.update(variables)
        return subprocess.run(command, cwd=self.work, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def with_hook(self, code, path=(), options=(), **variables):
        """What `code` prints under the hook."""
        run = self.run_with([HOOK, *path], [sys.executable, *options, "-c", code], **variables)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout.strip()

    def hunt(self, code, path, options=()):
        script = self.write("train.py", code)
        return self.run_with(path, [PROGRAM, "hunt", "--operators", "--", sys.executable, *options, script])

    def query(self, sql):
        run = self.run_with([], [PROGRAM, "query", "--format", "json", sql])
        self.assertEqual(run.returncode, 0, run.stderr)
        return [list(row.values()) for row in json.loads(run.stdout)]

    # The hook alone ------------------------------------------------------------------------------------------------

    def test_the_program_sees_no_trace_of_its_folder(self):
        code = "import sys; print([p for p in sys.path if 'startup' in p], 'torch' in sys.modules)"
        self.assertEqual(self.with_hook(code), "[] False")

    def test_another_sitecustomize_runs_in_its_place(self):
        self.write("other/sitecustomize.py", "value = 7")
        code = "import sys, sitecustomize; print(sitecustomize.value, sys.modules['sitecustomize'] is sitecustomize)"
        self.assertEqual(self.with_hook(code, [os.path.join(self.work, "other")]), "7 True")

    def test_a_failing_sitecustomize_fails_as_before(self):
        self.write("other/sitecustomize.py", "import no_such_module")
        other = os.path.join(self.work, "other")
        bare = self.run_with([other], [sys.executable, "-c", "print('ran')"])
        hooked = self.run_with([HOOK, other], [sys.executable, "-c", "print('ran')"])
        self.assertEqual((hooked.returncode, hooked.stdout), (bare.returncode, bare.stdout))
        self.assertIn("no_such_module", hooked.stderr)

    def test_children_are_hooked_too(self):
        code = (
            "import subprocess, sys; print(subprocess.run([sys.executable, '-c', "
            "'import torch; print(torch.log)'], capture_output=True, text=True).stdout)"
        )
        self.assertIn("'enable', 'NVTX'", self.with_hook(code, [FAKE_TORCH]))

    # With torch ----------------------------------------------------------------------------------------------------

    def test_on_after_the_import_for_operators_and_nodes_only(self):
        self.assertEqual(
            self.with_hook("import torch; print(torch.log)", [FAKE_TORCH]),
            "[('main', 'enable', 'NVTX', ['backward', 'function'])]",
        )

    def test_the_loader_is_what_it_was(self):
        code = "import torch; print(type(torch.__spec__.loader).__name__, 'exec_module' in vars(torch.__spec__.loader))"
        self.assertEqual(self.with_hook(code, [FAKE_TORCH]), "SourceFileLoader False")

    def test_threads_have_ranges_from_start_to_end(self):
        code = (
            "import torch, threading; t = threading.Thread(target=lambda: None); t.start(); t.join(); "
            "print([entry[:3] for entry in torch.log if entry[0] == 'other'])"
        )
        self.assertEqual(self.with_hook(code, [FAKE_TORCH]), "[('other', 'enable', 'NVTX'), ('other', 'disable', 'NVTX')]")

    def test_a_profiler_of_the_program_takes_over(self):
        code = (
            "import torch\nwith torch.autograd.profiler.profile(): pass\n"
            "print([entry[1:3] for entry in torch.log[1:]])"
        )
        self.assertEqual(
            self.with_hook(code, [FAKE_TORCH]),
            "[('mark', 'stallhound: operators off: a torch profiler started'), ('disable', 'NVTX'), ('enable', 'KINETO'), "
            "('disable', 'KINETO'), ('enable', 'NVTX'), ('mark', 'stallhound: operators on')]",
        )

    def test_a_profiler_that_does_not_start_leaves_the_ranges_on(self):
        code = (
            "import torch\ntry: torch.autograd.profiler.profile('refused').__enter__()\n"
            "except ValueError: print(torch.log[-2][1:3])"
        )
        self.assertEqual(self.with_hook(code, [FAKE_TORCH]), "('enable', 'NVTX')")

    def test_off_at_the_end(self):
        code = "import atexit\natexit.register(lambda: print(torch.log[-1][1:]))\nimport torch"
        self.assertEqual(self.with_hook(code, [FAKE_TORCH]), "('disable', 'NVTX')")

    def test_a_torch_that_it_does_not_know_is_left_alone(self):
        code = "import torch; print(torch.log)"
        self.assertEqual(self.with_hook(code, [FAKE_TORCH], FAKE_TORCH_WITHOUT_PROFILER="1"), "[]")

    def test_torch_may_come_from_a_path_that_is_added_later(self):
        code = f"import sys\ntry: import torch\nexcept ImportError: sys.path.append({FAKE_TORCH!r})\nimport torch; print(len(torch.log))"
        self.assertEqual(self.with_hook(code), "1")

    # Recorded ------------------------------------------------------------------------------------------------------

    def test_operators_are_recorded_with_their_lines(self):
        run = self.hunt(THREE_OPERATORS, [FAKE_TORCH])
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = self.query(
            "SELECT r.name, r.sequence, f.line FROM v_range r LEFT JOIN stack_frame s ON s.stack_id = r.stack_id AND s.depth = 1 "
            "LEFT JOIN v_frame f USING (frame_id) WHERE r.kind = 'operator' ORDER BY r.start_ns"
        )
        self.assertEqual(rows[:3], [["aten::relu", 41, 4], ["aten::index", 42, 5], ["aten::empty", None, None]])
        self.assertEqual([row[:2] for row in rows[3:]], [["aten::other", 7]], "none while the profiler ran")

    def test_none_recorded_is_said(self):
        code = "import ctypes, os\nlibrary = ctypes.CDLL(os.environ['NVTX_LIBRARY'])\nlibrary.push(b'step')\nlibrary.pop()\n"
        self.assertIn("operators were asked for and none was recorded", self.hunt(code, []).stderr.replace("\n", " "))

    def test_an_option_that_keeps_it_out_is_named(self):
        run = self.hunt("print('ran')", [FAKE_TORCH], ["-I"])
        self.assertEqual(run.stdout, "ran\n")
        self.assertIn("-I ignores PYTHONPATH", run.stderr)

    @unittest.skipUnless(os.path.exists(os.path.join(REAL_TORCH, "torch", "__init__.py")), "torch for Python is not here")
    def test_with_the_real_torch(self):
        # LibTorch's folder has the Python part too, but neither its dependencies nor always this Python's version.
        environment = dict(os.environ, PYTHONPATH=REAL_TORCH)
        probe = subprocess.run([sys.executable, "-W", "ignore", "-c", "import torch.profiler, sympy"], env=environment, capture_output=True, text=True)
        if probe.returncode != 0:
            self.skipTest(f"the torch here cannot be imported: {probe.stderr.strip().splitlines()[-1]}")
        code = (
            "import torch\nx = torch.ones(8, requires_grad=True)\nmask = x > 0\n"
            "y = (x * 2)[mask]\n"
            "with torch.profiler.profile() as profiler:\n    (x * 3).sum()\nassert len(profiler.events()) > 1\n"
            "y.sum().backward()\n"
        )
        run = self.hunt(code, [REAL_TORCH], ["-W", "ignore"])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("Leaked callback handle", run.stderr)
        rows = self.query(
            "SELECT r.name, f.line FROM v_range r JOIN stack_frame s ON s.stack_id = r.stack_id AND s.depth = 0 "
            "JOIN v_frame f USING (frame_id) WHERE r.sequence = (SELECT sequence FROM v_range WHERE name = 'IndexBackward0') "
            "ORDER BY r.start_ns"
        )
        self.assertEqual(rows[0], ["aten::index", 4])


if __name__ == "__main__":
    unittest.main()
