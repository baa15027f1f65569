"""The first page of a nightly run."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import nightly_report

COST = {"idle_ns": 2_500_000}
REPORT = {
    "sync_point_count": 45,
    "totals": [{"kind": "wait", "count": 40, "cost": COST}, {"kind": "allocator", "count": 5, "cost": {"idle_ns": None}}],
    "sites": [{"kind": "wait", "innermost_user": {"file": "train.py", "line": 7}, "native_symbol": None}],
    "losses": [{"id": "dropped-records", "count": 3, "severity": "severe"}, {"id": "small", "count": 1, "severity": "note"}],
}
NOTHING = {"sync_point_count": None, "totals": [], "sites": [], "losses": []}


class NightlyReportTest(unittest.TestCase):
    def test_sums_up_a_program(self):
        self.assertEqual(nightly_report.row("a", REPORT), ["a", "45", "40", "2.50", "wait at train.py:7", "lost: dropped-records (3)"])

    def test_unknown_is_not_zero(self):
        self.assertEqual(nightly_report.row("a", NOTHING), ["a", "not recorded", "not recorded", "not recorded", "none", ""])

    def test_writes_pages_and_names_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("a.json", json.dumps(REPORT)), ("a.log", ""), ("<b>.log", "boom")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(nightly_report.write(folder, "No GPU | here"), ["<b>"])
            with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
                page = file.read()
            self.assertIn('<a href="a.html">a</a>', page)
            self.assertIn("&lt;b&gt;", page)
            self.assertNotIn("<b>", page)
            self.assertTrue(os.path.exists(os.path.join(folder, "index.md")))


if __name__ == "__main__":
    unittest.main()
