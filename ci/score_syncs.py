#!/usr/bin/env python3
"""Scores a hunt over a corpus of scripts with known sync points.

score_syncs.py score REPORT.json EXPECTED.json    compare what was found with what is expected: prints the shares, writes
                                                  them to $OUT/score.json if OUT is set, ends with 1 if one is bad
score_syncs.py collect FOLDER EXPECTED.json       make REPORT.json's content from FOLDER/SCRIPT.{hunt,counts}.json
score_syncs.py run SCRIPT                         run SCRIPT, its loop over range(STEPS) a window of the recorder

EXPECTED.json has `steps` and, in `files`, one object per script: `file`, its counts per step (KEYS below), `sites` with
`line`, `kind` and `in_range` (a total over the steps), and `confidence`, of which only `measured` is scored.
REPORT.json maps a script to its counts per step and to `waits`: points of kind wait by line of the script.
"""

import ast
import ctypes
import json
import os
import sys
from dataclasses import dataclass, field

KEYS = ("sync", "DtoH", "HtoD", "malloc", "free", "graph_launch")
TOLERANCE = 0.05  # per step
LEAST_RATIO, MOST_FALSE_ALARMS_RATIO = 0.98, 0
FALSE_ALARMS = "false alarms"


@dataclass
class Score:
    expected_sites: int = 0
    reported_sites: int = 0
    found_sites: int = 0
    exact_sites: int = 0
    quiet_scripts: int = 0  # expect no wait
    scripts: int = 0
    exact_totals: dict = field(default_factory=lambda: dict.fromkeys(KEYS, 0))
    objections: list = field(default_factory=list)
    false_alarms: int = 0
    predictions: list = field(default_factory=list)


def _expected_waits(entry, steps):
    waits = {}
    for site in entry["sites"]:
        if site["kind"] == "wait":
            waits[site["line"]] = waits.get(site["line"], 0) + site["in_range"] / steps
    return waits


def _is_close(value, expected):
    return value is not None and abs(value - expected) <= TOLERANCE


def _score_script(score, entry, report, steps):
    name = entry["file"]
    waits = _expected_waits(entry, steps)
    reported = {int(line): count for line, count in report.get("waits", {}).items() if count > 0}
    score.scripts += 1
    score.expected_sites += len(waits)
    score.reported_sites += len(reported)
    for line, expected in sorted(waits.items()):
        if line not in reported:
            score.objections.append(f"{name}:{line}: not found ({expected:g} a step)")
            continue
        score.found_sites += 1
        if _is_close(reported[line], expected):
            score.exact_sites += 1
        else:
            score.objections.append(f"{name}:{line}: {reported[line]:g} a step, expected {expected:g}")
    for line in sorted(reported.keys() - waits.keys()):
        score.objections.append(f"{name}:{line}: reported ({reported[line]:g} a step), not expected")
    if not waits:
        score.quiet_scripts += 1
        score.false_alarms += bool(reported)
    for key in KEYS:
        if _is_close(report.get(key), entry[key]):
            score.exact_totals[key] += 1
        else:
            score.objections.append(f"{name}: {key} {report.get(key)}, expected {entry[key]:g}")


def score_report(report, expected):
    score = Score()
    for entry in expected["files"]:
        found = report.get(entry["file"])
        if entry["confidence"] != "measured":
            score.predictions.append((entry, found))
            continue
        if found is None:
            score.objections.append(f"{entry['file']}: no result")
        _score_script(score, entry, found or {}, expected["steps"])
    return score


def _share(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f}%)" if whole else "")


def shares(score):
    """{what: (count, of how many)}"""
    return {
        "recall": (score.found_sites, score.expected_sites),
        "precision": (score.found_sites, score.reported_sites),
        "count accuracy": (score.exact_sites, score.expected_sites),
        FALSE_ALARMS: (score.false_alarms, score.quiet_scripts),
        **{f"total {key}": (score.exact_totals[key], score.scripts) for key in KEYS},
    }


def is_reached(name, part, whole):
    return part <= MOST_FALSE_ALARMS_RATIO * whole if name == FALSE_ALARMS else part >= LEAST_RATIO * whole


def print_score(score):
    for name, (part, whole) in shares(score).items():
        print(f"{name:<15}", _share(part, whole))
    for entry, found in score.predictions:
        pairs = [f"{key} {(found or {}).get(key, 'unknown')} ({entry[key]:g})" for key in KEYS]
        print(f"not scored, measured (predicted): {entry['file']}: {', '.join(pairs)}")
    for objection in score.objections:
        print(objection)


def script_report(script, hunt, counts, steps):
    """One script's object of REPORT.json from the JSON of `hunt` and `counts`."""
    waits = {}
    for site in hunt["sites"]:
        frame = site["innermost_user"]
        if site["kind"] == "wait" and frame and frame["line"] and os.path.basename(frame["file"] or "") == script:
            line = str(frame["line"])
            waits[line] = waits.get(line, 0) + site["count"] / steps
    total = counts["total"]

    def per_step(value):
        return None if value is None else value / steps

    copies = None if total["copies"] is None else {"device-to-host": 0, "host-to-device": 0}
    for copy in total["copies"] or []:
        copies[copy["direction"]] = copies.get(copy["direction"], 0) + copy["count"]
    return {
        "waits": waits,
        "sync": per_step((total["sync_points"] or {}).get("wait")),
        "DtoH": per_step(copies and copies["device-to-host"]),
        "HtoD": per_step(copies and copies["host-to-device"]),
        "malloc": per_step(total["device_allocate_count"]),
        "free": per_step(total["device_free_count"]),
        "graph_launch": per_step(total["graph_launch_count"]),
    }


def _load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _score(report, expected):
    score = score_report(report, expected)
    print_score(score)
    if "OUT" in os.environ:
        with open(os.path.join(os.environ["OUT"], "score.json"), "w", encoding="utf-8") as file:
            json.dump(shares(score), file, indent=1)
    return 0 if all(is_reached(name, *share) for name, share in shares(score).items()) else 1


def collect(folder, expected):
    report = {}
    for entry in expected["files"]:
        stem = os.path.join(folder, entry["file"])
        try:
            hunt, counts = _load(stem + ".hunt.json"), _load(stem + ".counts.json")
            report[entry["file"]] = script_report(entry["file"], hunt, counts, expected["steps"])
        except (OSError, json.JSONDecodeError) as error:
            print(f"{entry['file']}: no result: {error}", file=sys.stderr)
    return report


def _set_window(is_open):
    """Starts or stops the recorder's window; without a recorder in the process nothing happens."""
    path = os.environ.get("CUDA_INJECTION64_PATH")
    if path:
        recorder = ctypes.CDLL(path)
        _ = recorder.stallhound_window_start(b"measured") if is_open else recorder.stallhound_window_stop()


def with_window(source, name):
    """The code of a script with window calls around its top-level `for ... in range(STEPS)`; lines stay as they are."""
    module = ast.parse(source, name)
    loops = [node for node in module.body if isinstance(node, ast.For) and ast.unparse(node.iter) == "range(STEPS)"]
    if len(loops) != 1:
        raise ValueError(f"{name} has {len(loops)} top-level loops over range(STEPS); exactly one can be a window")
    at = module.body.index(loops[0])
    for index, is_open in ((at, True), (at + 2, False)):
        call = ast.parse(f"_set_window({is_open})").body[0]
        for node in ast.walk(call):
            ast.copy_location(node, loops[0])
        module.body.insert(index, call)
    return compile(module, name, "exec")


def run_script(path):
    with open(path, encoding="utf-8") as file:
        code = with_window(file.read(), os.path.abspath(path))
    sys.argv = [path]
    exec(code, {"__name__": "__main__", "__file__": path, "_set_window": _set_window})


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "run":
        return run_script(arguments[1])
    if len(arguments) != 3 or arguments[0] not in ("score", "collect"):
        sys.exit(__doc__)
    verb, first, expected_path = arguments
    expected = _load(expected_path)
    if verb == "collect":
        json.dump(collect(first, expected), sys.stdout, indent=1)
        print()
        return 0
    return _score(_load(first), expected)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
