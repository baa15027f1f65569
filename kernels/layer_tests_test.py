"""The test program of every registered layer tests the layer's pair."""

import pathlib
import subprocess
import unittest

KERNELS = pathlib.Path("kernels")


class LayerTestsTest(unittest.TestCase):
    def test_every_layer_tests_its_pair(self):
        programs = sorted(KERNELS.glob("*/*_test"))
        self.assertTrue(programs)
        for program in programs:
            tests = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
            for test in ("IsWhole", "IsRightOnBenchmarkCases", "IsRightOnAwkwardShapes"):
                self.assertIn(f"  {test}/{program.parent.name}", tests, f"{program}: a line SH_PAIR_TESTS(...) is missing")


if __name__ == "__main__":
    unittest.main()
