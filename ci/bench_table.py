#!/usr/bin/env python3
"""Writes the bench's numbers into a README of a layer or model: bench_table.py RESULT.json NAME [--root FOLDER]

The table replaces what lies between `<!-- bench: begin -->` and `<!-- bench: end -->` in kernels/NAME/README.md, where there is no
such layer in models/NAME/README.md. RESULT.json is what bench wrote with --benchmark_out. Exit codes: 2 usage, 3 a result or README that does not fit.
"""

import argparse
import json
import os
import subprocess
import sys

import readme_table

FOLDERS = ("kernels", "models")
COLUMNS = ("shape", "dtype", "pass", "reference, us", "optimized, us", "in a graph, us", "speed-up", "share of the copy")
PAIR = ("reference", "optimized")  # what further variants stand beside, in a column each
SUFFIX = "/iterations:1/manual_time"
NS_PER_UNIT = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
UNKNOWN = "-"


def time_ns(row):
    """Of a row that failed or does not exist: None."""
    return None if row is None or row.get("error_occurred") else row["real_time"] * NS_PER_UNIT[row["time_unit"]]


def microseconds(value_ns):
    return UNKNOWN if value_ns is None else f"{value_ns / 1e3:.4g}"


def cases_of(result, name):
    """{(shape, dtype, pass): {variant: row}}, in the order of the run."""
    cases = {}
    for row in result["benchmarks"]:
        parts = row["name"].removesuffix(SUFFIX).split("/")
        if len(parts) != 5 or parts[0] != name or row.get("run_type", "iteration") != "iteration":
            continue
        cases.setdefault((parts[3], parts[2], parts[4]), {})[parts[1]] = row
    return cases


def further_variants(cases):
    """In the order of the run."""
    return [name for name in dict.fromkeys(name for variants in cases.values() for name in variants) if name not in PAIR]


def cells_of(case, variants, further):
    reference, optimized = variants.get("reference"), variants.get("optimized")
    reference_ns, optimized_ns = time_ns(reference), time_ns(optimized)
    known = optimized if optimized_ns is not None else {}
    ratio = known.get("copy_ratio")
    speedup = UNKNOWN if None in (reference_ns, optimized_ns) else f"{reference_ns / optimized_ns:.2f}"
    copy_share = UNKNOWN if ratio is None else f"{100 / ratio:.0f}%"
    others = [microseconds(time_ns(variants.get(name))) for name in further]
    pair = [microseconds(ns) for ns in (reference_ns, optimized_ns, known.get("graph_ns"))]
    return [*case, *pair, speedup, copy_share, *others]


def table(result, name, commit):
    context = result["context"]
    if context.get("stallhound_pass") != "time":
        raise ValueError("a recording pass has no times; run the bench without --stallhound_record_iterations")
    cases = cases_of(result, name)
    if not cases:
        raise ValueError(f"no case of {name} is in it")
    further = further_variants(cases)
    rows = [cells_of(case, variants, further) for case, variants in cases.items()]
    source = readme_table.source(context["device_name"], [f"LibTorch {context['torch_version']}"], context["date"], commit)
    columns = [*COLUMNS, *(f"{name}, us" for name in further)]
    return f"{readme_table.table(columns, rows)}\n\n{source}"


def readme_of(name, root):
    paths = [os.path.join(root, folder, name, "README.md") for folder in FOLDERS]
    return next(filter(os.path.exists, paths), paths[0])


def head_commit(root):
    return subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("name")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--commit", help="what was measured; without it, what is checked out")
    arguments = parser.parse_args()
    path = readme_of(arguments.name, arguments.root)
    try:
        with open(arguments.result) as file:
            text = table(json.load(file), arguments.name, arguments.commit or head_commit(arguments.root))
    except (OSError, KeyError, ValueError, subprocess.CalledProcessError) as error:
        print(f"bench_table: cannot make a table of {arguments.result}: {error}", file=sys.stderr)
        return 3
    try:
        with open(path) as file:
            readme = readme_table.with_text(file.read(), "bench", text)
    except (OSError, ValueError) as error:
        print(f"bench_table: cannot write {path}: {error}", file=sys.stderr)
        return 3
    with open(path, "w") as file:
        file.write(readme)
    return 0


if __name__ == "__main__":
    sys.exit(main())
