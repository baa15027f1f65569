"""The bench as a program, on the CPU: rows, side file, recording pass, failures and exit codes."""

import json
import os
import subprocess
import tempfile
import unittest

BENCH = "bench/bench"
TINY = "bench/testing/tiny_bench"
SUFFIX = "/iterations:1/manual_time"
# Google Benchmark's own: what is left of a row are counters.
ROW_FIELDS = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index",
              "threads", "iterations", "real_time", "cpu_time", "time_unit", "label", "error_occurred", "error_message"}


class Run:
    def __init__(self, program, *flags, device="cpu", **environment):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "result.json")
            flags = [f"--benchmark_out={out}", *([f"--stallhound_device={device}"] if device else []), *flags]
            self.process = subprocess.run([program, *flags], capture_output=True, text=True, timeout=240, env={**os.environ, **environment})
            self.code = self.process.returncode
            self.rows, self.context, self.samples = {}, {}, {}
            if os.path.exists(out) and os.path.getsize(out):
                with open(out) as file:
                    result = json.load(file)
                self.context = result["context"]
                self.rows = {row["name"].removesuffix(SUFFIX): row for row in result["benchmarks"]}
            if "stallhound_samples" in self.context:
                assert self.context["stallhound_samples"] == out + ".samples.jsonl"
                with open(self.context["stallhound_samples"]) as file:
                    self.samples = {line["id"]: line for line in map(json.loads, file)}


def log_of(program, *flags):
    """What the recording pass tells an NVTX tool: the run, and the lines of the log."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "nvtx.log")
        run = Run(program, *flags, NVTX_INJECTION64_PATH=os.path.abspath("bench/testing/nvtx_log.so"), NVTX_LOG=log)
        with open(log) as file:
            return run, file.read().splitlines()


class TimingPassTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = Run(TINY)
        cls.case_id = "right/optimized/fp32/100x3/forward"

    def test_a_row_for_each_case(self):
        expected = [f"{pair}/{variant}/fp32/100x3/{direction}" for pair in ("waits", "right", "wrong", "throws")
                    for variant in ("reference", "optimized") for direction in ("forward", "backward")]
        self.assertEqual(sorted(self.run_.rows), sorted(expected))
        self.assertEqual(sorted(self.run_.samples), sorted(expected))

    def test_counters(self):
        row = self.run_.rows[self.case_id]
        self.assertEqual(set(row) - ROW_FIELDS, {"bytes", "flops", "sample_count", "interval_ratio", "host_ns"})
        self.assertEqual((row["bytes"], row["flops"], row["time_unit"]), (100 * 3 * 4 * 2, 600, "us"))
        self.assertEqual(row["iterations"], 1)

    def test_the_time_is_the_median_of_the_side_file(self):
        row, samples = self.run_.rows[self.case_id], self.run_.samples[self.case_id]
        times = sorted(samples["time_ns"])
        self.assertEqual(len(times), row["sample_count"])
        self.assertGreaterEqual(len(times), 10)
        median = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
        self.assertAlmostEqual(row["real_time"] * 1000, median, delta=1)
        self.assertTrue(all(isinstance(time, int) and time > 0 for time in times))

    def test_the_side_file_says_what_is_unknown_and_why(self):
        samples = self.run_.samples[self.case_id]
        self.assertEqual(set(samples["sm_clock_hz"]) | set(samples["copy_ns"]), {None})
        self.assertEqual(len(samples["sm_clock_hz"]), len(samples["time_ns"]))
        self.assertIsNone(samples["throttle_reasons"])
        self.assertEqual((samples["copy_problem"], samples["graph_problem"]), ("the copy is measured on CUDA only", "graphs are captured on CUDA only"))
        self.assertEqual((samples["checked_shape"], samples["error"], samples["input_set_count"]), ("100x3", None, 4))

    def test_a_wrong_result_is_a_row_and_an_exit_code(self):
        row = self.run_.rows["wrong/optimized/fp32/100x3/forward"]
        self.assertTrue(row["error_occurred"])
        self.assertIn("y is wrong", row["error_message"])
        self.assertEqual(self.run_.samples["wrong/optimized/fp32/100x3/forward"]["error"], row["error_message"])
        self.assertNotIn("error_occurred", self.run_.rows["wrong/optimized/fp32/100x3/backward"])
        self.assertIn("no kernel for [100, 3]", self.run_.rows["throws/optimized/fp32/100x3/forward"]["error_message"])
        self.assertEqual(self.run_.code, 3)

    def test_without_the_check_a_wrong_result_is_timed(self):
        case_id = "wrong/optimized/fp32/100x3/forward"
        run = Run(TINY, f"--benchmark_filter=^{case_id}", "--stallhound_check=false", "--stallhound_min_time=1ms")
        self.assertEqual(run.code, 0, run.process.stderr)
        self.assertNotIn("error_occurred", run.rows[case_id])
        self.assertIsNone(run.samples[case_id]["checked_shape"])
        self.assertLess(len(run.samples[case_id]["time_ns"]), self.run_.rows[self.case_id]["sample_count"])

    def test_context(self):
        context = self.run_.context
        self.assertEqual((context["stallhound_device"], context["stallhound_pass"]), ("cpu", "time"))
        self.assertRegex(context["torch_version"], r"^\d+\.\d+")
        self.assertRegex(context["compiler"], r"^(gcc|clang) \d+\.\d+\.\d+(, nvcc \d+\.\d+\.\d+)?$")
        self.assertRegex(context["build_flags"], r"^optimized, assertions")
        self.assertNotIn("driver_version", context)


class RecordingPassTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_, cls.log = log_of(TINY, "--stallhound_record_iterations=7", "--benchmark_filter=^right/optimized/.*/backward")

    def test_runs_so_many_iterations_and_samples_none(self):
        (row,) = self.run_.rows.values()
        self.assertEqual((self.run_.code, self.run_.context["stallhound_pass"]), (0, "record"))
        self.assertEqual(set(row) - ROW_FIELDS, {"bytes", "flops"})
        self.assertEqual(self.run_.samples["right/optimized/fp32/100x3/backward"]["time_ns"], [])
        self.assertEqual(self.log.count("push iteration"), 7)

    def test_iterations_lie_in_the_case_and_operators_in_iterations(self):
        begin = self.log.index("push right/optimized/fp32/100x3/backward")
        # The check and the inputs, forward pass and all, lie before the case.
        self.assertNotIn("push iteration", self.log[:begin])
        self.assertIn("push aten::square", self.log[:begin])
        stack, in_iterations = [], []
        for line in self.log[begin:]:
            if line == "pop":
                stack.pop()
                continue
            stack.append(line.removeprefix("push "))
            if stack[-1] != "iteration" and len(stack) > 1:
                self.assertEqual(stack[1], "iteration", line)
                in_iterations.append(stack[-1])
        self.assertEqual(stack, [])
        self.assertEqual(in_iterations.count("PowBackward0"), 7)
        self.assertNotIn("aten::square", in_iterations)


class ProgramTest(unittest.TestCase):
    def test_every_layer_is_there(self):
        listed = subprocess.run([BENCH, "--benchmark_list_tests", "--stallhound_device=cpu"], capture_output=True, text=True, check=True).stdout.split()
        self.assertIn("layer_norm/optimized/bf16/10000x128/backward" + SUFFIX, listed)
        self.assertIn("layer_norm/reference/fp32/10000x16/forward" + SUFFIX, listed)

    def test_a_layer_is_measured(self):
        run = Run(BENCH, "--benchmark_filter=^layer_norm/optimized/fp32/10000x16/forward")
        (row,) = run.rows.values()
        self.assertEqual((run.code, row["name"]), (0, "layer_norm/optimized/fp32/10000x16/forward" + SUFFIX))
        self.assertEqual(row["bytes"], (2 * 10000 + 2) * 16 * 4)

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has a GPU")
    def test_without_a_gpu_there_are_no_cases_of_cuda(self):
        listed = subprocess.run([BENCH, "--benchmark_list_tests"], capture_output=True, text=True, check=True).stdout
        self.assertIn("/10000x128/", listed)
        self.assertNotIn("/1200000x128/", listed)
        run = Run(BENCH, device="cuda")
        self.assertEqual((run.code, run.rows), (4, {}))
        self.assertIn("cannot measure on cuda", run.process.stderr)

    def test_usage(self):
        for flags, message in [(["--benchmark_filter=no_such_layer"], "matches no case"), (["--stallhound_device=tpu"], "cpu or cuda"),
                               (["--no_such_flag"], "no_such_flag"), (["--stallhound_record_iterations=0"], "at least 1")]:
            run = Run(TINY, *flags)
            self.assertEqual(run.code, 2, flags)
            self.assertIn(message, run.process.stderr)


if __name__ == "__main__":
    unittest.main()
