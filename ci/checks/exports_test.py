"""The check of the recorder's symbols passes a well-behaved library and finds what is wrong with a leaky one."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import exports

BUILT = os.path.join("ci", "checks")


class ExportsTest(unittest.TestCase):
    def test_passes_what_is_listed(self):
        self.assertEqual(exports.problems(os.path.join(BUILT, "libwell_behaved.so")), [])

    def test_reports_symbols_and_libraries_beyond_the_list(self):
        found = exports.problems(os.path.join(BUILT, "libleaky.so"))
        self.assertIn("libleaky.so: exports Leaked, which is not listed", found)
        self.assertIn("libleaky.so: does not export stallhound_window_stop", found)
        self.assertIn("libleaky.so: needs libstdc++.so.6, which is not listed", found)

    def test_compares_versions_as_numbers(self):
        self.assertLess(exports._number("2.9"), exports._number("2.34"))
        self.assertLess(exports._number("2.2.5"), exports._number("2.3"))


if __name__ == "__main__":
    unittest.main()
