"""The counts of a range, read from the spool of the running process by the program `stallhound` in a child process."""

import json
import os
import shutil
import subprocess
import tempfile

from stallhound import _install

_LIMIT_S = 300


class NotCounted(Exception):
    """There are no counts; the message is half a sentence that says why."""


def of_range(spools, name):
    """The report of `stallhound counts --range NAME` (reports/text/README.md) on copies of `spools`, as a dictionary.

    The files may be written to meanwhile: a copy stands still. Raises NotCounted. Cost: a copy and a reading of all that
    was recorded so far.
    """
    if not spools:
        raise NotCounted("this process has recorded nothing")
    with tempfile.TemporaryDirectory(prefix="stallhound-") as folder:
        try:
            for spool in spools:
                shutil.copyfile(spool, os.path.join(folder, os.path.basename(spool)))
        except OSError as error:
            raise NotCounted(f"the spool could not be copied to be read: {error}") from error
        return _run(["counts", "--range", name, "--format", "json", folder])


def _run(arguments):
    try:
        command = [_install.program(), *arguments]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT_S, check=False)
    except (_install.NotInstalled, OSError, subprocess.TimeoutExpired) as error:
        raise NotCounted(str(error)) from error
    if run.returncode != 0:
        said = run.stderr.decode(errors="replace").strip() or f"it ended with {run.returncode}"
        raise NotCounted(f"`stallhound counts` failed: {said}")
    return json.loads(run.stdout)


def sync_points(report):
    """Sync points by kind. Raises NotCounted if they were not recorded, or if some were lost."""
    kinds = report["total"]["sync_points"]
    lost = [f"{loss['id']} ({loss['meaning']})" for loss in report["losses"] if loss["affects_counts"]]
    if kinds is None or lost:
        raise NotCounted("; ".join(lost + report["notes"]) or "the recording holds no calls of CUDA")
    return kinds


def lines(report, kinds):
    """A line of text for each site of these kinds, the most frequent first."""
    sites = [site for site in report["sites"] if site["kind"] in kinds]
    sites.sort(key=lambda site: -site["count"])
    return [f"{site['count']} x {site['kind']} at {_place(site)} ({', '.join(site['apis'])})" for site in sites]


def _place(site):
    frame = site["innermost_user"]
    if frame is None:
        return site["native_symbol"] or "an unknown place"
    place = frame["file"] or frame["module"] or "an unknown file"
    if frame["line"] is not None:
        place += f":{frame['line']}"
    return f"{place} in {frame['function']}" if frame["function"] else place
