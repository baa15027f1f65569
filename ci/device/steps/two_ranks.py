"""Two ranks on two GPUs, the second late in every step: does the hunt name it and its line? Keeps both spools as fixtures
($OUT/two-ranks/N.spool.zst), the report in $OUT/two_ranks.json, what of the wait it explains in $OUT/rank_share.json."""

import glob
import json
import os
import subprocess
import sys
import tempfile

SHARE = 0.9  # of rank 0's wait that the planted line must have


def main():
    example = os.path.join(os.environ["BUNDLE"], "examples", "two_ranks.py")
    with open(example, encoding="utf-8") as script:
        line = next(i for i, text in enumerate(script, 1) if "return loaded.to(" in text)
    folder = tempfile.mkdtemp()
    recorder = os.environ["RECORDER"]
    environment = dict(os.environ, CUDA_INJECTION64_PATH=recorder, NVTX_INJECTION64_PATH=recorder, STALLHOUND_SPOOL_DIR=folder)
    subprocess.run([sys.executable, example], env=environment, check=True, timeout=100)
    report = os.path.join(os.environ["OUT"], "two_ranks.json")
    hunt = [os.environ["STALLHOUND"], "hunt", "--range", "measured"]
    subprocess.run([*hunt, "--format", "json", "--output", report, "--from", folder], check=True)
    print(subprocess.run([*hunt, "--from", folder], check=True, capture_output=True, text=True).stdout)
    spools = sorted(glob.glob(folder + "/**/*.spool", recursive=True), key=os.path.getsize)[-2:]
    kept = os.path.join(os.environ["OUT"], "two-ranks")
    os.makedirs(kept, exist_ok=True)
    for number, spool in enumerate(sorted(spools)):
        subprocess.run(["zstd", "-19qf", spool, "-o", os.path.join(kept, f"{number}.spool.zst")], check=True)
    with open(report, encoding="utf-8") as file:
        hunted = json.load(file)
    waits = [delay for delay in hunted["rank_delays"] if delay["waiting"]["rank"] == 0]
    total_ns = sum(delay["wait_ns"] for delay in waits)
    named_ns = 0
    for cause in (cause for delay in waits if delay["late"]["rank"] == 1 for cause in delay["causes"]):
        frame = hunted["sites"][cause["site"]]["innermost_user"] if cause["site"] is not None else None
        if frame and frame["line"] == line:
            named_ns += cause["wait_ns"]
    with open(os.path.join(os.environ["OUT"], "rank_share.json"), "w", encoding="utf-8") as file:
        json.dump({"wait_ns": total_ns, "named_ns": named_ns}, file)
    share = named_ns / total_ns if total_ns else 0
    print(f"rank 0 waited {total_ns / 1e6:.1f} ms in collectives; {share:.1%} of it for the planted line of rank 1")
    return 0 if share >= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
