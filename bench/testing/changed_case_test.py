"""Planted regressions are the bench, but for one case that does more."""

import collections
import json
import os
import subprocess
import tempfile
import unittest

FOLDER = "bench/testing"
CHANGED = "layer_norm/optimized/fp32/10000x512/forward"
NEIGHBOURS = ("layer_norm/optimized/fp32/10000x512/backward", "layer_norm/optimized/bf16/10000x512/forward",
              "layer_norm/optimized/fp32/10000x256/forward", "layer_norm/reference/fp32/10000x512/forward")
ITERATIONS = 4


def ids(program):
    listing = subprocess.run([program, "--stallhound_device=cpu", "--benchmark_list_tests"], capture_output=True, text=True, check=True)
    return listing.stdout.splitlines()


def operators(program):
    """Of each case: its operators within iterations, and how often each is called."""
    cases = (CHANGED, *NEIGHBOURS)
    with tempfile.TemporaryDirectory() as folder:
        out, log = os.path.join(folder, "result.json"), os.path.join(folder, "nvtx.log")
        environment = {**os.environ, "NVTX_INJECTION64_PATH": os.path.abspath(f"{FOLDER}/nvtx_log.so"), "NVTX_LOG": log}
        # Ends with 3 if the result of a case is wrong.
        subprocess.run([program, "--stallhound_device=cpu", f"--stallhound_record_iterations={ITERATIONS}", f"--benchmark_filter=^({'|'.join(cases)})",
                        f"--benchmark_out={out}"], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=240)
        with open(out, encoding="utf-8") as file:
            assert len(json.load(file)["benchmarks"]) == len(cases)
        with open(log, encoding="utf-8") as file:
            lines = file.read().splitlines()
    counts, stack = {case: collections.Counter() for case in cases}, []
    for line in lines:
        if line == "pop":
            stack.pop()
            continue
        stack.append(line.removeprefix("push "))
        if stack[0] in counts and len(stack) > 2:
            counts[stack[0]][stack[-1]] += 1
    return counts


class ChangedCaseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.before = operators("bench/bench")
        cls.after = {program: operators(f"{FOLDER}/{program}") for program in ("bench_extra_item", "bench_slow_10", "bench_slow_2")}

    def added(self, program, case):
        self.assertFalse(self.before[case] - self.after[program][case])
        return self.after[program][case] - self.before[case]

    def test_the_suite_is_the_same(self):
        for program in self.after:
            self.assertEqual(ids(f"{FOLDER}/{program}"), ids("bench/bench"))

    def test_one_item_in_each_iteration(self):
        self.assertEqual(self.added("bench_extra_item", CHANGED)["aten::item"], ITERATIONS)

    def test_more_rows_in_each_iteration(self):
        for program in ("bench_slow_10", "bench_slow_2"):
            added = self.added(program, CHANGED)
            self.assertEqual(added["aten::narrow"], ITERATIONS)
            self.assertNotIn("aten::item", added)

    def test_neighbours_are_as_they_were(self):
        for case in NEIGHBOURS:
            self.assertTrue(self.before[case])
            for program in self.after:
                self.assertFalse(self.added(program, case), f"{program} {case}")


if __name__ == "__main__":
    unittest.main()
