#!/usr/bin/env python3
"""Writes what a GPU machine measured into READMEs: device_tables.py [FOLDER...] [--root FOLDER] [--commit COMMIT]

FOLDER is an $OUT of ci/device/run.sh; of a file in several the last counts. The figures with their limits replace what lies
between `<!-- hunt: begin -->` and `<!-- hunt: end -->` in analysis/hunt/README.md, the costs of recording what lies between
the marks `overhead` in record/README.md. What no FOLDER has becomes "not measured": no old number stays, and every limit is
seen, whether something was held against it or not. Exit codes: 2 usage, 3 a result or README that does not fit.
"""

import argparse
import contextlib
import json
import operator
import os
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "device", "steps"))

import detection
import operators
import readme_table
import score_syncs
import score_twins
import two_ranks

RULES = {"at most": operator.le, "at least": operator.ge, "below": operator.lt}
NOT_MEASURED = "not measured"
UNKNOWN = "-"
FIGURE_COLUMNS = ("figure", "limit", "measured", "reached", "command")
COST_COLUMNS = ("calls", "mode", "recorded, us", "not recorded, us", "cost, us", "bare process, us")
OVERHEAD = {"overhead.json": "overhead"}


@dataclass(frozen=True)
class Unit:
    """Formats of a limit and of a measured number; of a share: of its part and whole, after multiplying them."""

    limit: str
    measured: str
    factor: float = 1


SHARE = Unit("{:.0%}", "{:g} of {:g}")
SHARE_OF_MS = Unit("{:.0%}", "{:.1f} of {:.1f} ms", 1e-6)
RATIO = Unit("{:g}", "{:.3f}")
MICROSECONDS = Unit("{:g} us", "{:g} us")
COUNT = Unit("{:g}", "{:g}")


@dataclass(frozen=True)
class Source:
    step: str
    file: str
    value: Callable  # of the file's content: a number, (part, whole) of a share, or None where it was not measured


@dataclass(frozen=True)
class Figure:
    name: str
    source: Source
    rule: str
    limit: float
    unit: Unit = SHARE

    def _number_and_text(self, measured):
        if measured is None:
            return None, NOT_MEASURED
        if not isinstance(measured, (tuple, list)):
            return measured, self.unit.measured.format(measured)
        part, whole = measured
        text = self.unit.measured.format(part * self.unit.factor, whole * self.unit.factor)
        return (part / whole, f"{text} ({part / whole:.1%})") if whole else (None, text)

    def row(self, results):
        result = results.get(self.source.file)
        with _reading(result.path if result else ""):
            number, text = self._number_and_text(self.source.value(result.content) if result else None)
            reached = UNKNOWN if number is None else "yes" if RULES[self.rule](number, self.limit) else "**no**"
        return self.name, f"{self.rule} {self.unit.limit.format(self.limit)}", text, reached, f"`run.sh {self.source.step}`"


@dataclass(frozen=True)
class Result:
    path: str
    content: object
    origin: str  # machine, date and commit


@contextlib.contextmanager
def _reading(path):
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} is not what the step writes: {type(error).__name__}: {error}") from error


def _score_figures():
    for name in score_syncs.shares(score_syncs.Score()):
        is_alarm = name == score_syncs.FALSE_ALARMS
        limit = score_syncs.MOST_FALSE_ALARMS_RATIO if is_alarm else score_syncs.LEAST_RATIO
        source = Source("score_syncs", "score.json", operator.itemgetter(name))
        yield Figure(f"known waits: {name}", source, "at most" if is_alarm else "at least", limit)


def _detection_figures():
    def source(value):
        return Source("detection", "detection.json", value)

    def over_bare(mode):
        return source(lambda result: result["ratios"].get(mode))

    def over_tool(tool):
        return source(lambda result: detection.over_other_tool(result["ratios"], tool))

    def placeless(mode):
        return source(lambda result: result["places"][mode]["without_any_place"] if mode in result["places"] else None)

    for mode, limit in detection.LIMITS.items():
        yield Figure(f"Faster R-CNN: step in {mode} over bare", over_bare(mode), "at most", limit, RATIO)
    for tool in detection.OTHER_TOOLS:
        yield Figure(f"Faster R-CNN: step in default over one under {tool}", over_tool(tool), "below", detection.OTHER_TOOLS_LIMIT, RATIO)
    for mode in detection.LIMITS:
        yield Figure(f"Faster R-CNN: waits a step without a place, {mode}", placeless(mode), "at most", detection.PLACELESS_LIMIT, COUNT)


def _operators_figures():
    def source(value):
        return Source("operators", "operators.json", value)

    own, named = source(lambda result: result["cost"]["own_us"]), source(lambda result: result["backward"]["named"])
    yield Figure("own cost of an operator under `--operators`", own, "at most", operators.LIMIT_US, MICROSECONDS)
    yield Figure("sites of a backward that name the planted line", named, "at least", operators.NEEDED_NAMED, COUNT)
    yield Figure("sites of a backward with a forward line", source(operators.lines_of_sites), "at least", operators.NEEDED_LINES_RATIO)


def figures():
    twins = Source("score_twins", "twins.json", score_twins.right_of_scored)
    share = Source("two_ranks", "rank_share.json", lambda result: (result["named_ns"], result["wait_ns"]))
    return [
        *_score_figures(),
        Figure("recoverable is what the fixed twin saves", twins, "at least", score_twins.NEEDED_RATIO),
        Figure("rank 0's wait for the planted line of rank 1", share, "at least", two_ranks.SHARE, SHARE_OF_MS),
        *_detection_figures(),
        *_operators_figures(),
    ]


def origin(machine, commit):
    """One line from a device.json."""
    commit = commit or machine["commit"]
    if not machine["devices"]:
        raise ValueError("it names no GPU")
    if not commit:
        raise ValueError("it names no commit; say --commit")
    counts = Counter(name or "unknown GPU" for name in machine["devices"])
    device = " + ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items())
    tools = {"driver": "driver_version", "CUDA": "cuda_version", "CUPTI": "cupti_version", "torch": "torch_version"}
    software = [f"{tool} {machine[key] or 'unknown'}" for tool, key in tools.items()]
    return readme_table.source(device, software, machine["date"], commit)


def _load(path):
    with open(path, encoding="utf-8") as file, _reading(path):
        return json.load(file)


def load(folders, commit):
    """{file: Result}"""
    results = {}
    for folder in folders:
        path = os.path.join(folder, "device.json")
        machine = _load(path)
        with _reading(path):
            line = origin(machine, commit)
        for file in sorted({figure.source.file for figure in figures()} | OVERHEAD.keys()):
            path = os.path.join(folder, file)
            if os.path.exists(path):
                results[file] = Result(path, _load(path), line)
    return results


def _with_origins(table, results, steps):
    """The table and, for each machine and day, a line with what ran there. `steps`: {file: step}"""
    by_origin = {}
    for file, step in steps.items():
        if file in results:
            by_origin.setdefault(results[file].origin, []).append(step)
    lines = [f"- {', '.join(names)}: {line}" for line, names in by_origin.items()]
    return "\n".join([table, "", *lines]) if lines else table


def hunt_text(results):
    table = readme_table.table(FIGURE_COLUMNS, [figure.row(results) for figure in figures()])
    return _with_origins(table, results, {figure.source.file: figure.source.step for figure in figures()})


def _cost_rows(costs):
    bare_ns = {(cost["workload"], cost["busy"]): cost["off_ns"] for cost in costs if cost["mode"] == "bare"}
    for cost in costs:
        if cost["mode"] == "bare":
            continue
        key = cost["workload"], cost["busy"]
        times = [f"{value_ns / 1e3:.2f}" for value_ns in (cost["on_ns"], cost["off_ns"], cost["cost_ns"])]
        bare = f"{bare_ns[key] / 1e3:.2f}" if key in bare_ns else UNKNOWN
        yield [cost["workload"] + (", busy" if cost["busy"] else ""), cost["mode"], *times, bare]


def overhead_text(results):
    (file,) = OVERHEAD
    if file not in results:
        return "Not measured."
    with _reading(results[file].path):
        table = readme_table.table(COST_COLUMNS, _cost_rows(results[file].content))
    return _with_origins(table, results, OVERHEAD)


def _rewritten(path, name, text):
    with open(path, encoding="utf-8") as file:
        try:
            return readme_table.with_text(file.read(), name, text)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def write(root, texts):
    """Both READMEs or none. `texts`: {(path, marks): text}"""
    readmes = {os.path.join(root, path): (name, text) for (path, name), text in texts.items()}
    for path, readme in {path: _rewritten(path, *what) for path, what in readmes.items()}.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(readme)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="*")
    parser.add_argument("--root", default=os.path.dirname(HERE))
    parser.add_argument("--commit", help="what was measured; without it, what device.json says")
    options = parser.parse_args(arguments)
    try:
        results = load(options.folder, options.commit)
        texts = {
            ("analysis/hunt/README.md", "hunt"): hunt_text(results),
            ("record/README.md", "overhead"): overhead_text(results),
        }
        write(options.root, texts)
    except (OSError, ValueError) as error:
        print(f"device_tables: cannot write the tables: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
