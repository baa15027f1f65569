"""Each check of the tree finds what is planted for it, and lets its neighbours pass."""

import os
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "testing"))

import format as clang_format
import include_table
import readmes
import sizes
import snippets
import tidy
import words
from planted_tree import PlantedTreeTest


class IncludeTableTest(PlantedTreeTest):
    def test_reports_folders_and_libraries_that_a_folder_must_not_use(self):
        self.plant("analysis/a.cc", '#include "reports/text/x.h"\n#include <cuda_runtime.h>\n#include "base/units.h"\n')
        found = include_table.problems(self.root)
        self.assertEqual(len(found), 2, found)
        self.assertIn("analysis/a.cc:1: includes reports/text/x.h", found[0])
        self.assertIn("analysis may not use cuda", found[1])

    def test_reads_cuda_files(self):
        self.plant("kernels/add/add_cuda.cu", '#include "capture/reader.h"\n')
        self.assertEqual(len(include_table.problems(self.root)), 1)

    def test_keeps_abseil_out_of_the_recorder_but_not_out_of_its_tests(self):
        self.plant("record/nvtx/nvtx.cc", "#include <absl/status/status.h>\n")
        self.plant("record/nvtx/nvtx_test.cc", "#include <absl/status/status.h>\n#include <gtest/gtest.h>\n")
        found = include_table.problems(self.root)
        self.assertEqual(found, ["record/nvtx/nvtx.cc:1: includes absl/status/status.h, but record may not use absl"])

    def test_ignores_comments_and_standard_headers(self):
        self.plant("base/a.h", '// #include "cli/x.h"\n/*\n#include "cli/y.h"\n*/\n#include <vector>\n#include <sys/stat.h>\n')
        self.assertEqual(include_table.problems(self.root), [])

    def test_reports_a_folder_without_a_rule(self):
        self.plant("newcomer/a.cc", "")
        self.assertEqual(len(include_table.problems(self.root)), 1)


class SizesTest(PlantedTreeTest):
    def test_reports_a_file_that_is_too_long(self):
        self.plant("base/a.py", "x = 1\n" * 601)
        self.assertIn("601 lines", sizes.problems(self.root)[0])

    def test_reports_median_and_share(self):
        for i in range(10):
            self.plant(f"base/f{i}.py", "x = 1\n" * (400 if i < 2 else 140))
        found = sizes.problems(self.root)
        self.assertIn("the median file has 140 lines", found[0])
        self.assertIn("2 of 10 files have more than 350 lines", found[1])

    def test_reports_long_functions_but_allows_kernels_more(self):
        body = "  x += 1;\n" * 70
        self.plant("base/a.cc", "namespace a {\nint Long(int x) {\n" + body + "  return x;\n}\n}\n")
        self.plant("kernels/a/a_cuda.cu", "__global__ void Kernel(int x) {\n" + body + "}\n")
        found = sizes.problems(self.root)
        self.assertEqual(found, ["base/a.cc:2: Long has 73 lines; at most 60"])

    def test_reports_too_many_parameters(self):
        self.plant("base/a.cc", "void Six(int a, std::map<int, int> b, int c, int d, int e, int f) {}\nvoid Five(int a, int b, int c, int d, int e) {}\n")
        self.assertEqual(sizes.problems(self.root), ["base/a.cc:1: Six has 6 parameters; at most 5, else a struct"])

    def test_passes_functions_whose_interface_is_fixed(self):
        self.plant("base/a.cc", "int Six(int a, int b, int c, int d, int e, int f) {  // NOLINT(readability-function-size): SQLite's\n  return 0;\n}\n")
        self.assertEqual(sizes.problems(self.root), [])

    def test_sees_methods_constructors_and_lambdas(self):
        text = (
            "class A {\n public:\n  A(int a) : a_(a), b_{1} {\n  }\n  int Get() const noexcept { return a_; }\n};\n"
            "int Outer() {\n  auto f = [](int x) {\n    return x;\n  };\n  if (f(1)) {\n  }\n  return 0;\n}\n"
            "constexpr int kTable[] = {1, 2};\nauto g = Make({1, 2});\nint After() { return 0; }\n"
        )
        self.assertEqual([f[1] for f in sizes.functions(text)], ["A", "Get", "Outer", "After"])


class WordsTest(PlantedTreeTest):
    def test_reports_work_left_for_later_paths_and_addresses(self):
        self.plant("base/a.cc", "// TO" "DO: later\n")
        self.plant("base/b.sh", "cd /ro" "ot/project\n")
        self.plant("base/c.md", "see https" "://example.net/x and https" "://www.apache.org/licenses/LICENSE-2.0\n")
        kinds = [problem.split(": ")[1] for problem in words.problems(self.root)]
        self.assertEqual(kinds, ["left-over", "machine", "address"])


class ReadmesTest(PlantedTreeTest):
    def test_reports_missing_long_and_broken(self):
        self.plant("base/a.cc", "")
        self.plant("cli/a.cc", "")
        self.plant("cli/README.md", "[gone](nowhere.md) [here](a.cc) [web](https" "://www.w3.org)\n" + "line\n" * 60)
        found = readmes.problems(self.root)
        self.assertEqual(len(found), 3, found)
        self.assertIn("base: has code but no README.md", found[0])
        self.assertIn("61 lines", found[1])
        self.assertIn("nowhere.md", found[2])

    def test_a_generated_table_does_not_count(self):
        table = "<!-- {0}: begin. Generated. -->\n" + "| 1 |\n" * 90 + "<!-- {1}: end -->\n"
        self.plant("kernels/add/README.md", "line\n" * 59 + table.format("bench", "bench"))
        self.plant("kernels/mul/README.md", "line\n" * 60 + table.format("bench", "bench"))
        self.plant("kernels/div/README.md", "line\n" * 58 + table.format("hunt", "hunt") + table.format("bench", "bench"))
        self.plant("kernels/sub/README.md", table.format("hunt", "bench"))
        found = readmes.problems(self.root)
        self.assertEqual([line.split(";")[0] for line in found], [
            "kernels/mul/README.md:1: 61 lines", "kernels/sub/README.md:1: 92 lines",
        ])


@unittest.skipUnless(shutil.which("clang-format-14"), "clang-format-14 is not installed")
class FormatTest(PlantedTreeTest):
    def test_reports_the_first_line_that_would_change(self):
        self.plant(".clang-format", "BasedOnStyle: Google\n")
        self.plant("base/good.cc", "int a = 1;\n")
        self.plant("base/bad.cc", "int a = 1;\nint   b=2;\n")
        found = clang_format.problems(self.root)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith("base/bad.cc:2: not formatted"), found)


@unittest.skipUnless(shutil.which("clang-tidy-14"), "clang-tidy-14 is not installed")
class TidyTest(PlantedTreeTest):
    def setUp(self):
        super().setUp()
        self.home = os.environ.get("HOME")
        os.environ["HOME"] = self.root + "/home"
        self.addCleanup(lambda: os.environ.update(HOME=self.home) if self.home else os.environ.pop("HOME"))
        self.plant(".clang-tidy", "Checks: '-*,readability-identifier-naming'\nCheckOptions:\n  - {key: readability-identifier-naming.FunctionCase, value: CamelCase}\n")
        self.plant("base/a.cc", "int wrong_case() { return 0; }\n")

    def test_reports_until_mended_and_remembers_clean_files(self):
        found, left = tidy.problems(self.root)
        self.assertEqual((len(found), left), (1, []), found)
        self.assertTrue(found[0].startswith("base/a.cc:1: invalid case style"), found)
        self.plant("base/a.cc", "int RightCase() { return 0; }\n")
        self.assertEqual(tidy.problems(self.root), ([], []))
        self.assertEqual(tidy.problems(self.root, budget_s=-1), ([], []))

    def test_names_files_that_time_did_not_suffice_for(self):
        self.assertEqual(tidy.problems(self.root, budget_s=-1), ([], ["base/a.cc"]))


class SnippetsTest(PlantedTreeTest):
    def test_runs_marked_blocks_and_compares_their_output(self):
        self.plant("README.md", "```console run\n$ echo one   two\none two\n$ printf 'a\\nb\\nc\\n'\na\n...\nc\n```\n```console\n$ false\n```\n")
        self.assertEqual(snippets.problems(self.root, "/bin"), [])

    def test_reports_other_output_and_failing_commands(self):
        self.plant("a/README.md", "```console run\n$ echo one\ntwo\n```\n\n```console run\n$ exit 3\n```\n")
        found = snippets.problems(self.root, "/bin")
        self.assertEqual(len(found), 2, found)
        self.assertIn("a/README.md:1: `echo one` printed something else:\none", found[0])
        self.assertIn("a/README.md:6: `exit 3` ended with 3", found[1])


if __name__ == "__main__":
    unittest.main()
