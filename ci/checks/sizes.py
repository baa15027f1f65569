#!/usr/bin/env python3
"""Checks sizes: files (median 130 lines, 90% within 350, none over 600), functions (60 lines, CUDA kernels 80) and
parameters (5, kernels aside). Tests may be longer; their functions may not. A function whose parameters somebody else's
interface fixes says `NOLINT(readability-function-size)` on the line of its brace."""

import re
import statistics

import tree

MEDIAN_LINES, NINETY_PERCENT_LINES, MOST_LINES = 130, 350, 600
FUNCTION_LINES, KERNEL_LINES, PARAMETERS = 60, 80, 5

_NOT_FUNCTIONS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignas", "decltype", "defined"}
# A function's head ends in its parameter list; behind it only qualifiers, a return type or an initialiser list.
_HEAD = re.compile(
    r"(?P<name>~?[A-Za-z_]\w*|operator[^\s(]+|operator\(\))\s*(?P<open>\()",
)
_TAIL = re.compile(r"^\s*(const|noexcept(\([^)]*\))?|override|final|mutable|&&?|->[^;{}]*|:[^;{}]*(\{[^{}]*\}[^;{}]*)*|requires[^;{}]*|try|\s)*$")


def _matching(text, start, opening, closing):
    depth = 0
    for i in range(start, len(text)):
        if text[i] == opening:
            depth += 1
        elif text[i] == closing:
            depth -= 1
            if depth == 0:
                return i
    return -1


def _parameter_count(parameters):
    depth, count = 0, 0
    if not parameters.strip() or parameters.strip() == "void":
        return 0
    for char in parameters:
        if char in "(<[{":
            depth += 1
        elif char in ")>]}":
            depth -= 1
        elif char == "," and depth == 0:
            count += 1
    return count + 1


def _function_at(text, brace, scope_start):
    """(name, parameter count, is kernel) if the block opened at `brace` is a function body."""
    head = text[scope_start:brace]
    # Of `Name(parameters) : member_(value) {` the first parenthesis that only a tail follows belongs to the function.
    for match in _HEAD.finditer(head):
        if match.group("name") in _NOT_FUNCTIONS:
            return None
        close = _matching(head, match.start("open"), "(", ")")
        if close != -1 and _TAIL.match(head[close + 1 :]):
            parameters = head[match.end("open") : close]
            return match.group("name"), _parameter_count(parameters), "__global__" in head
    return None


_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_SCOPE = re.compile(r"\b(namespace|class|struct|enum|union|extern)\b")
_INITIALISER = re.compile(r"(=|,|\(|\breturn)\s*$")
_BRACED_NAME = re.compile(r"[\w>\]]\s*$")


def _is_initialiser(head):
    return bool(_INITIALISER.search(head)) or (bool(_BRACED_NAME.search(head)) and not _SCOPE.search(head))


def functions(text):
    """Yields (line, name, line count, parameter count, is kernel) for each function of C++ text; lambdas belong to the
    function around them."""
    text = _PREPROCESSOR.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), tree.without_comments(text))
    position, scope_start = 0, 0
    while position < len(text):
        if text[position] in ";}":
            scope_start = position + 1
        elif text[position] == "{":
            found = _function_at(text, position, scope_start)
            if found:
                end = _matching(text, position, "{", "}")
                if end == -1:
                    return
                line = text.count("\n", 0, position) + 1
                yield (line, found[0], text.count("\n", position, end) + 1, found[1], found[2])
                position = end
            elif _is_initialiser(text[scope_start:position]):
                position = max(position, _matching(text, position, "{", "}"))
            scope_start = position + 1
        position += 1


def _file_problems(counts):
    found = [f"{path}:1: {lines} lines; no file may have more than {MOST_LINES}" for path, lines in counts.items() if lines > MOST_LINES]
    if len(counts) >= 10:
        median = statistics.median(counts.values())
        if median > MEDIAN_LINES:
            found.append(f"the median file has {median:g} lines; at most {MEDIAN_LINES}")
        long = sorted((lines, path) for path, lines in counts.items() if lines > NINETY_PERCENT_LINES)
        if len(long) > len(counts) / 10:
            names = ", ".join(f"{path} ({lines})" for lines, path in long)
            found.append(f"{len(long)} of {len(counts)} files have more than {NINETY_PERCENT_LINES} lines, over a tenth: {names}")
    return found


def problems(root):
    counts = {}
    found = []
    for path in tree.files(root, tree.PRODUCT_SUFFIXES):
        text = tree.read(root, path)
        if not tree.is_test(path):
            counts[path] = text.count("\n")
        if not path.endswith(tree.CPP_SUFFIXES):
            continue
        source_lines = text.splitlines()
        for line, name, lines, parameters, is_kernel in functions(text):
            if "NOLINT(readability-function-size)" in source_lines[line - 1]:
                continue
            most = KERNEL_LINES if is_kernel else FUNCTION_LINES
            if lines > most:
                found.append(f"{path}:{line}: {name} has {lines} lines; at most {most}")
            if parameters > PARAMETERS and not is_kernel and not tree.is_test(path):
                found.append(f"{path}:{line}: {name} has {parameters} parameters; at most {PARAMETERS}, else a struct")
    return found + _file_problems(counts)


if __name__ == "__main__":
    tree.main(problems)
