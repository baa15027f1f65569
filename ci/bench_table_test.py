"""ci/bench_table.py on a small result."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import bench_table


def row(name, real_time, **more):
    return {"name": name + "/iterations:1/manual_time", "run_type": "iteration", "real_time": real_time, "time_unit": "us", **more}


RESULT = {
    "context": {"date": "2026-11-30T10:11:12+00:00", "device_name": "NVIDIA H200", "torch_version": "2.11.0", "stallhound_pass": "time"},
    "benchmarks": [
        row("scale/reference/fp32/10x3/forward", 30.0),
        row("scale/reference/fp32/10x3/backward", 40.0),
        row("scale/optimized/fp32/10x3/forward", 12.5, copy_ratio=1.25, graph_ns=11000.0),
        row("scale/optimized/fp32/10x3/backward", 0.0, error_occurred=True, error_message="dx is wrong", copy_ratio=2.0),
        row("scale/libtorch/fp32/10x3/forward", 20.0),
        row("other/optimized/fp32/10x3/forward", 1.0),
        row("scale/optimized/bf16/10x3/forward", 1234.567),
    ],
}

BEGIN, END = "<!-- bench: begin. Written by the bench. -->", "<!-- bench: end -->"

TABLE = """| shape | dtype | pass | reference, us | optimized, us | in a graph, us | speed-up | share of the copy | libtorch, us |
|---|---|---|---|---|---|---|---|---|
| 10x3 | fp32 | forward | 30 | 12.5 | 11 | 2.40 | 80% | 20 |
| 10x3 | fp32 | backward | 40 | - | - | - | - | - |
| 10x3 | bf16 | forward | - | 1235 | - | - | - | - |

NVIDIA H200, LibTorch 2.11.0, 2026-11-30, commit abc123."""


class TableTest(unittest.TestCase):
    def test_known_and_unknown_numbers(self):
        self.assertEqual(bench_table.table(RESULT, "scale", "abc123"), TABLE)

    def test_refuses_what_has_no_times(self):
        with self.assertRaisesRegex(ValueError, "no case of missing"):
            bench_table.table(RESULT, "missing", "abc123")
        with self.assertRaisesRegex(ValueError, "recording pass"):
            bench_table.table({**RESULT, "context": {**RESULT["context"], "stallhound_pass": "record"}}, "scale", "abc123")


class ReadmeTest(unittest.TestCase):
    def run_on(self, readme, result=RESULT, parent="kernels"):
        with tempfile.TemporaryDirectory() as root:
            folder = os.path.join(root, parent, "scale")
            os.makedirs(folder)
            readme_path, result_path = os.path.join(folder, "README.md"), os.path.join(root, "result.json")
            with open(readme_path, "w") as file:
                file.write(readme)
            with open(result_path, "w") as file:
                file.write(json.dumps(result))
            command = [sys.executable, os.path.join(HERE, "bench_table.py"), result_path, "scale", "--root", root, "--commit", "abc123"]
            process = subprocess.run(command, capture_output=True, text=True)
            with open(readme_path) as file:
                return process.returncode, process.stderr, file.read()

    def test_replaces_what_lies_between_the_marks(self):
        written = f"# scale\n\n{BEGIN}\n{TABLE}\n{END}\n\nMore.\n"
        for between in ("", "old\n\nolder\n"):
            code, _, readme = self.run_on(f"# scale\n\n{BEGIN}\n{between}{END}\n\nMore.\n")
            self.assertEqual((code, readme), (0, written))
        self.assertEqual(self.run_on(written)[2], written)
        self.assertEqual(self.run_on(f"# scale\n\n{BEGIN}\n{END}\n\nMore.\n", parent="models")[::2], (0, written))

    def test_leaves_a_readme_without_marks_alone(self):
        for readme in ("# scale\n", f"{END}\n{BEGIN}\n"):
            code, error, after = self.run_on(readme)
            self.assertEqual((code, after), (3, readme))
            self.assertIn("it needs a line", error)

    def test_a_broken_result_is_an_error(self):
        code, error, _ = self.run_on(f"{BEGIN}\n{END}\n", {"benchmarks": []})
        self.assertEqual(code, 3)
        self.assertIn("cannot make a table of", error)


if __name__ == "__main__":
    unittest.main()
