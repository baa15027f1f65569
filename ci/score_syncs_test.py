"""The scorer of ci/score_syncs.py, on a corpus of three scripts."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import score_syncs

NOTHING = dict.fromkeys(score_syncs.KEYS, 0)


def entry(name, sites=(), confidence="measured", **counts):
    return {"file": name, "sites": [dict(zip(("line", "kind", "in_range"), site)) for site in sites], "confidence": confidence, **NOTHING, **counts}


EXPECTED = {
    "steps": 20,
    "files": [
        entry("a.py", [(7, "wait", 20), (7, "DtoH", 20), (9, "wait", 10)], sync=1.5, DtoH=1),
        entry("quiet.py"),
        entry("predicted.py", confidence="predicted", HtoD=1),
    ],
}


class ScoreTest(unittest.TestCase):
    def test_a_perfect_report(self):
        report = {"a.py": {**NOTHING, "waits": {"7": 1, "9": 0.5}, "sync": 1.5, "DtoH": 1}, "quiet.py": {**NOTHING, "waits": {}}}
        score = score_syncs.score_report(report, EXPECTED)
        self.assertEqual((score.found_sites, score.exact_sites, score.expected_sites, score.reported_sites), (2, 2, 2, 2))
        self.assertEqual(score.exact_totals, dict.fromkeys(score_syncs.KEYS, 2))
        self.assertEqual((score.objections, score.false_alarms), ([], 0))

    def test_lost_wrong_and_false_sites(self):
        report = {"a.py": {"waits": {"7": 2, "8": 1}}, "quiet.py": {**NOTHING, "waits": {"3": 0.05, "4": 0}}}
        score = score_syncs.score_report(report, EXPECTED)
        self.assertEqual((score.found_sites, score.exact_sites, score.reported_sites), (1, 0, 3))
        self.assertEqual((score.false_alarms, score.quiet_scripts), (1, 1))
        self.assertIn("a.py:9: not found (0.5 a step)", score.objections)
        self.assertIn("a.py:8: reported (1 a step), not expected", score.objections)
        self.assertIn("a.py: sync None, expected 1.5", score.objections)

    def test_a_missing_script_counts_as_not_found(self):
        score = score_syncs.score_report({}, EXPECTED)
        self.assertEqual((score.found_sites, score.expected_sites, score.scripts), (0, 2, 2))
        self.assertEqual(score.exact_totals["malloc"], 0)


class ScriptReportTest(unittest.TestCase):
    HUNT = {
        "sites": [
            {"kind": "wait", "count": 20, "innermost_user": {"file": "corpus/a.py", "line": 7}},
            {"kind": "wait", "count": 20, "innermost_user": {"file": "corpus/other.py", "line": 8}},
            {"kind": "allocator", "count": 20, "innermost_user": {"file": "corpus/a.py", "line": 9}},
            {"kind": "wait", "count": 10, "innermost_user": None},
        ]
    }

    def test_divides_by_steps_and_keeps_unknown_unknown(self):
        total = {
            "sync_points": {"wait": 50}, "copies": [{"direction": "device-to-host", "count": 40}, {"direction": "device-to-host", "count": 20}],
            "device_allocate_count": 1, "device_free_count": None, "graph_launch_count": 0,
        }
        report = score_syncs.script_report("a.py", self.HUNT, {"total": total}, 20)
        self.assertEqual(report, {"waits": {"7": 1}, "sync": 2.5, "DtoH": 3, "HtoD": 0, "malloc": 0.05, "free": None, "graph_launch": 0})


class WindowTest(unittest.TestCase):
    SOURCE = "WARMUP, STEPS = 1, 2\nfor _ in range(WARMUP):\n    log('warm')\nfor _ in range(STEPS):\n    log('step')\n    fail_line()\nlog('end')\n"

    def test_opens_around_the_loop_and_keeps_lines(self):
        log, lines = [], []
        names = {"_set_window": lambda is_open: log.append(is_open), "log": log.append, "fail_line": lambda: lines.append(sys._getframe(1).f_lineno)}
        exec(score_syncs.with_window(self.SOURCE, "a.py"), names)
        self.assertEqual(log, ["warm", True, "step", "step", False, "end"])
        self.assertEqual(lines, [6, 6])

    def test_refuses_a_script_without_the_loop(self):
        with self.assertRaisesRegex(ValueError, "a.py has 0 top-level loops"):
            score_syncs.with_window("x = 1\n", "a.py")


if __name__ == "__main__":
    unittest.main()
