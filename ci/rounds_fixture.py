#!/usr/bin/env python3
"""Rounds of runs of one suite and program, a case a line, as analysis/gate judges them: rounds_fixture.py RUN.json...

RUN.json is what `stallhound report RUN --format json` prints, the first run first. Prints an id and its times in ns a line.
Exit code 3: a case that was not measured in all of the runs.
"""

import json
import sys


def cases_of(runs):
    """{id: [time, ...]}, in the order of the first run."""
    cases = {}
    for number, run in enumerate(runs):
        for benchmark in run["benchmarks"]:
            rounds = cases.setdefault(benchmark["name"], [[] for _ in runs])
            rounds[number] = benchmark["round_times_ns"]
    for name, rounds in cases.items():
        if not all(rounds):
            raise ValueError(f"{name} was not measured in run {1 + rounds.index([])} of {len(runs)}")
    return {name: sum(rounds, []) for name, rounds in cases.items()}


def main(paths):
    runs = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            runs.append(json.load(file))
    try:
        for name, times in cases_of(runs).items():
            print(name, *times)
    except ValueError as error:
        print(f"rounds_fixture.py: error: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
