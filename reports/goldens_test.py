"""Looks at the expected files of golden_test with other eyes: Unicode, Markdown and HTML as Python knows them."""

import html.parser
import pathlib
import re
import unicodedata
import unittest
import xml.etree.ElementTree

_TESTDATA = pathlib.Path(__file__).parent / "testdata"
_VOID = {"meta", "br", "hr"}
_ATTRIBUTES = {
    "html": {"lang"}, "meta": {"charset", "name", "content", "http-equiv"}, "th": {"scope", "class"}, "td": {"class"},
}


def _files(pattern):
    files = sorted(_TESTDATA.glob(pattern))
    assert files, f"no {pattern} in {_TESTDATA}"
    return [(str(path.relative_to(_TESTDATA)), path.read_bytes().decode("utf-8", "strict")) for path in files]


def _columns(text):
    return sum(0 if unicodedata.category(c) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


class _Page(html.parser.HTMLParser):
    """Collects what a page holds; every element must be closed where it was opened."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.problems = []
        self.text = ""
        self.style = ""
        self.tables = []  # cells of each row

    def handle_starttag(self, tag, attributes):
        for name, _ in attributes:
            if name not in _ATTRIBUTES.get(tag, set()):
                self.problems.append(f"<{tag}> has the attribute {name}")
        if tag in ("script", "img", "link", "iframe", "object", "embed", "base", "form", "a"):
            self.problems.append(f"<{tag}> loads or runs")
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append(0)
        if tag in ("td", "th"):
            self.tables[-1][-1] += 1

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.text += data

    def handle_comment(self, data):
        self.problems.append(f"a comment: {data}")

    def unknown_decl(self, data):
        self.problems.append(f"a declaration: {data}")


class GoldensTest(unittest.TestCase):
    def test_nothing_acts_on_the_display(self):
        for name, text in _files("*/expected*"):
            for character in set(text) - {"\n"}:
                self.assertNotIn(unicodedata.category(character), ("Cc", "Cf", "Cs", "Zl", "Zp"),
                                 f"{name}: {ord(character):#x}")
            self.assertTrue(text.endswith("\n") and not text.endswith("\n\n"), name)

    def test_terminal_lines_fit(self):
        for name, text in _files("*/expected_*.txt"):
            limit = int(re.search(r"_(\d+)\.txt", name).group(1))
            for line in text.splitlines():
                self.assertLessEqual(_columns(line), limit, f"{name}: {line}")

    def test_unknown_is_never_zero(self):
        names = ("wait", "pageable-copy", "allocator", "loader", "query-spin")
        for name, text in _files("light/expected_120.txt") + _files("light/expected.md"):
            rows = [line for line in text.splitlines() if line.removeprefix("| ").startswith(names)]
            # Sites have a fourth cost, what can be recovered.
            self.assertEqual([row.count("not recorded") for row in rows], [4, 4, 3, 3], name)

    def test_markdown_reads_names_as_text(self):
        for name, text in _files("*/expected.md"):
            columns = None
            for line in text.splitlines():
                if not line.startswith("|"):
                    columns = None
                else:
                    count = len(re.findall(r"(?<!\\)\|", line))
                    columns = columns or count
                    self.assertEqual(count, columns, f"{name}: {line}")
                plain = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
                self.assertNotRegex(plain, r"[`<>*_@\[\]$&~\\]|https?:|www\.", f"{name}: {line}")
                self.assertNotRegex(line, r"^(?:#{3,}|[-+*] |\d+[.)] |=+$|\s)", f"{name}: {line}")

    def test_html_is_well_formed_and_self_contained(self):
        for name, text in _files("*/expected.html"):
            page = _Page()
            page.feed(text)
            page.close()
            self.assertEqual(page.problems, [], name)
            self.assertEqual(page.open, [], name)
            self.assertNotRegex(page.style, r"url\(|@import|expression", name)
            self.assertIn("default-src 'none'", text, name)
            self.assertTrue(page.tables, name)
            for rows in page.tables:
                self.assertEqual(len(set(rows)), 1, f"{name}: rows of {rows} cells")

    def test_html_shows_hostile_names_as_they_are(self):
        page = _Page()
        page.feed((_TESTDATA / "hostile/expected.html").read_text(encoding="utf-8"))
        for text in ("<script>alert(1)</script>&amp;\"'><img src=x onerror=y>", "]]> --> </style></pre></details>",
                     "K" * 500, "*bold* _em_"):
            self.assertIn(text, page.text)

    def test_junit_is_well_formed_and_counts_right(self):
        for name, text in _files("*/expected.xml"):
            suites = xml.etree.ElementTree.fromstring(text.encode("utf-8"))
            cases = suites.findall("testsuite/testcase")
            self.assertEqual(suites.tag, "testsuites", name)
            for element in (suites, suites.find("testsuite")):
                self.assertEqual(int(element.get("tests")), len(cases), name)
                for counter, tag in (("failures", "failure"), ("skipped", "skipped")):
                    self.assertEqual(int(element.get(counter)), sum(c.find(tag) is not None for c in cases), name)
            self.assertTrue(all(len(case) <= 1 and set(case.keys()) == {"classname", "name"} for case in cases), name)

    def test_junit_names_the_lines(self):
        suites = xml.etree.ElementTree.parse(_TESTDATA / "ordinary/expected.xml")
        failures = suites.findall("testsuite/testcase/failure")
        self.assertEqual(len(failures), 1)
        self.assertIn("training/loop.py:87", failures[0].text)
        hostile = xml.etree.ElementTree.parse(_TESTDATA / "hostile/expected.xml")
        texts = [failure.text for failure in hostile.findall("testsuite/testcase/failure")]
        for name in ("<script>alert(1)</script>&amp;\"'><img src=x onerror=y>", "]]> --> </style></pre></details>"):
            self.assertTrue(any(name in text for text in texts), name)


if __name__ == "__main__":
    unittest.main()
