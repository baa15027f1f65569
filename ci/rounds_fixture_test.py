"""Rounds of several runs become one line a case."""

import importlib.util
import os
import unittest

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rounds_fixture.py")
_SPEC = importlib.util.spec_from_file_location("rounds_fixture", _PATH)
rounds_fixture = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rounds_fixture)


def run(**rounds):
    return {"benchmarks": [{"name": name, "round_times_ns": times} for name, times in rounds.items()]}


class RoundsFixtureTest(unittest.TestCase):
    def test_runs_follow_each_other(self):
        cases = rounds_fixture.cases_of([run(b=[3, 1], a=[2]), run(a=[5], b=[4])])
        self.assertEqual(list(cases.items()), [("b", [3, 1, 4]), ("a", [2, 5])])

    def test_a_case_that_one_run_lacks_is_an_error(self):
        for runs in ([run(a=[1], b=[2]), run(a=[1])], [run(a=[1]), run(a=[1], b=[2])], [run(a=[])]):
            with self.assertRaisesRegex(ValueError, "was not measured in run"):
                rounds_fixture.cases_of(runs)


if __name__ == "__main__":
    unittest.main()
