#!/usr/bin/env python3
"""Writes a nightly run's first page: nightly_report.py FOLDER DEVICE

FOLDER holds NAME.json (a hunt's JSON), NAME.html (its page) and NAME.log of each program; `index.html` and `index.md` are
added. DEVICE is a sentence on where it ran. Exit code 1 if a program has no report.
"""

import html
import json
import os
import sys
import urllib.parse

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .7rem; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
"""
_HEADINGS = ("Program", "Sync points", "Waits", "Idle ms", "First site", "Notes")
_NUMBERS = (1, 2, 3)


def _known(value, form=str):
    return "not recorded" if value is None else form(value)


def _first_site(report):
    if not report["sites"]:
        return "none"
    site = report["sites"][0]
    frame = site["innermost_user"]
    place = f"{frame['file']}:{frame['line']}" if frame and frame["file"] else site["native_symbol"]
    return f"{site['kind']} at {place or 'an unknown place'}"


def row(name, report):
    """Cells of one program, as text."""
    totals = {total["kind"]: total for total in report["totals"]}
    idle = [total["cost"]["idle_ns"] for total in report["totals"]]
    idle_ns = None if all(value is None for value in idle) else sum(value or 0 for value in idle)
    losses = [f"{loss['id']} ({loss['count']})" for loss in report["losses"] if loss["severity"] != "note"]
    return [
        name,
        _known(report["sync_point_count"]),
        _known(totals.get("wait", {}).get("count")),
        _known(idle_ns, lambda ns: f"{ns / 1e6:.2f}"),
        _first_site(report),
        "lost: " + ", ".join(losses) if losses else "",
    ]


def _html_page(rows, device):
    def cells(tag, values):
        return "".join(
            f'<{tag}{" class=number" if index in _NUMBERS else ""}>{value}</{tag}>' for index, value in enumerate(values)
        )

    def link(name):
        return f'<a href="{html.escape(urllib.parse.quote(name))}.html">{html.escape(name)}</a>'

    body = "".join(f"<tr>{cells('td', [link(values[0]), *map(html.escape, values[1:])])}</tr>\n" for values in rows)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Stallhound: nightly</title><style>{_STYLE}</style></head>\n'
        f"<body><h1>Nightly</h1><p>{html.escape(device)}</p>\n<table><thead><tr>{cells('th', _HEADINGS)}</tr></thead>\n<tbody>{body}</tbody></table></body></html>\n"
    )


def _markdown(rows, device):
    lines = [f"# Nightly\n\n{device}\n", f"| {' | '.join(_HEADINGS)} |", "|---|--:|--:|--:|---|---|"]
    return "\n".join(lines + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |" for cells in rows]) + "\n"


def write(folder, device):
    """Writes both pages; returns the programs without a report."""
    names = sorted(os.path.splitext(name)[0] for name in os.listdir(folder) if name.endswith(".log"))
    rows, missing = [], []
    for name in names:
        try:
            with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
                rows.append(row(name, json.load(file)))
        except (OSError, ValueError, KeyError, TypeError) as error:
            missing.append(name)
            rows.append([name, "failed", "", "", "", f"no report: {error}"])
    for path, text in (("index.html", _html_page(rows, device)), ("index.md", _markdown(rows, device))):
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
    return missing


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    without_report = write(sys.argv[1], sys.argv[2])
    for program in without_report:
        print(f"no report of {program}: see {os.path.join(sys.argv[1], program)}.log")
    sys.exit(1 if without_report else 0)
