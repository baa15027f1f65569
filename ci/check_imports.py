#!/usr/bin/env python3
"""Checks every importer against a folder of files with reference counts.

usage: check_imports.py [--stallhound PATH] FOLDER...

A folder holds index.json (files with "counts" and a "role") or expected.json (files with "must", "counts" and
"message"). Each file goes through `stallhound import --counts`; prints one line per file and exits 1 if any differs.
"""

import argparse
import json
import pathlib
import subprocess
import sys

# Told in words rather than numbers, or depending on the producer's layout of its own tables.
NOT_COMPARED = {"format", "time", "notes", "quirks", "top_keys", "events_without_ph", "schema", "metadata_table"}
ROLES_REFUSED = {"refuse"}
ROLES_NOTED = {"no GPU": ("no GPU",), "no kernels": ("no kernel",), "other vendor": ("no CUDA", "not CUDA", "HIP")}


def run_import(stallhound, path):
    """The exit code, the JSON object or None, and everything printed."""
    result = subprocess.run([stallhound, "import", "--counts", str(path)], capture_output=True, text=True, timeout=600)
    try:
        counts = json.loads(result.stdout)
    except json.JSONDecodeError:
        counts = None
    return result.returncode, counts, result.stdout + result.stderr


def is_zero(value):
    return value in (None, 0, {}, [])


def differences(wanted, found, prefix=""):
    """Sentences about each wanted count that is not found; zero may be absent."""
    result = []
    for key, value in wanted.items():
        if not prefix and key in NOT_COMPARED:
            continue
        have = found.get(key)
        name = prefix + key
        if isinstance(value, dict) and isinstance(have, dict):
            result += differences(value, have, name + ".")
            result += [f"{name}.{extra}: {have[extra]} not wanted" for extra in have
                       if extra not in value and not is_zero(have[extra])]
        elif is_zero(value) and is_zero(have):
            continue
        elif isinstance(value, float) or isinstance(have, float):
            if not isinstance(have, (int, float)) or abs(value - have) > 1e-6 * max(1, abs(value)):
                result.append(f"{name}: {have} instead of {value}")
        elif value != have:
            result.append(f"{name}: {have} instead of {value}")
    return result


def has_word(text, words):
    return any(word.lower() in text.lower() for word in words)


def check_expected(entry, code, counts, text):
    """Problems of a file of expected.json."""
    if entry["must"] == "refuse":
        problems = [] if code not in (0, 70) and code > 0 else [f"exit code {code} instead of a refusal"]
        if not has_word(text, entry.get("message", [""])):
            problems.append("the message holds none of " + ", ".join(entry["message"]))
        return problems
    if code != 0 or counts is None:
        return [f"exit code {code}: {text.strip()[:200]}"]
    return differences(entry.get("counts", {}), counts)


def check_index(entry, code, counts, text):
    """Problems of a file of index.json."""
    role = entry["role"]
    wanted = entry.get("counts") or {}
    no_kineto = wanted.get("format", "").startswith("Chrome events without")
    if role in ROLES_REFUSED or (role == "other format" and no_kineto):
        return [] if code not in (0, 70) and code > 0 else [f"exit code {code} instead of a refusal"]
    if role == "other format":
        # Benchmarks and metrics: counted by their importer, or refused with a reason.
        return [] if code in (0, 3) and text.strip() else [f"exit code {code}"]
    if code != 0 or counts is None:
        return [f"exit code {code}: {text.strip()[:200]}"]
    problems = []
    if wanted and all(isinstance(value, dict) and "format" in value for value in wanted.values()):
        for member, member_wanted in wanted.items():
            problems += differences(member_wanted, counts.get(member, {}), "") if member in counts else [member + ": missing"]
    else:
        problems += differences(wanted, counts)
    if role in ROLES_NOTED and not has_word(text, ROLES_NOTED[role]):
        problems.append(f"role {role}, and nothing says so")
    return problems


def check_folder(stallhound, folder):
    """Prints a table; returns (files, files with problems)."""
    expected, index = folder / "expected.json", folder / "index.json"
    source, check = (expected, check_expected) if expected.exists() else (index, check_index)
    entries = json.loads(source.read_text())["files"]
    bad_count = 0
    for entry in entries:
        code, counts, text = run_import(stallhound, folder / entry["file"])
        problems = check(entry, code, counts, text)
        bad_count += bool(problems)
        kind = entry.get("must") or entry["role"]
        print(f"{'FAIL' if problems else 'ok':4}  {kind:12}  exit {code}  {entry['file']}")
        for problem in problems:
            print(f"      {problem}")
    return len(entries), bad_count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stallhound", default="stallhound", help="the binary to check")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    results = [check_folder(arguments.stallhound, folder) for folder in arguments.folders]
    count, bad_count = (sum(column) for column in zip(*results))
    print(f"{count - bad_count} of {count} files as expected")
    return 1 if bad_count else 0


if __name__ == "__main__":
    sys.exit(main())
