#!/usr/bin/env python3
"""What a bundle's steps measure on, as JSON: GPUs, driver, CUDA, CUPTI, torch, the bundle's commit, the date; unknown is null.

$STALLHOUND and $BUNDLE as for the steps. CUPTI is the one that torch brings, as in recordings of it.
"""

import datetime
import json
import os
import subprocess
import sys


def description(doctor, torch_version, commit):
    """`doctor` is what `stallhound doctor --json` prints."""
    nvml, cupti = doctor["facts"]["nvml"], doctor["facts"]["cupti"]
    return {
        "devices": [device["name"] for device in nvml["devices"]],
        "driver_version": nvml["driver_version"],
        "cuda_version": nvml["cuda_version"],
        "cupti_version": cupti["version"],
        "torch_version": torch_version,
        "commit": commit,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def _torch_version():
    try:
        import torch
    except ImportError:
        return None
    return torch.__version__


def _mapped_cupti():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next((line.split()[-1] for line in maps if "/libcupti.so" in line), None)


def _commit():
    try:
        with open(os.path.join(os.environ["BUNDLE"], "commit"), encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None


def main():
    torch_version, environment = _torch_version(), dict(os.environ)
    cupti = _mapped_cupti()
    if cupti:
        environment.setdefault("STALLHOUND_CUPTI", cupti)
    doctor = subprocess.run(  # ends with 4 where nothing can be recorded, and still says what it found
        [os.environ["STALLHOUND"], "doctor", "--json"], env=environment, stdout=subprocess.PIPE, timeout=60, check=False
    )
    json.dump(description(json.loads(doctor.stdout), torch_version, _commit()), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
