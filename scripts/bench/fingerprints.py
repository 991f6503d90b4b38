"""Fingerprints of a checkout's results: what a change of structure must leave as it was, to the bit.

It plays short leagues and trainings, two seeds each, and one benchmark line through the public commands, and prints the
SHA-256 of what they wrote. Digests depend on the machine's processor and on PyTorch, so they are compared between two
checkouts on one machine, and never stored:

  git worktree add ../before HEAD~1
  python scripts/bench/fingerprints.py > after.txt
  python scripts/bench/fingerprints.py --checkout ../before > before.txt
  diff before.txt after.txt
"""

import argparse
import csv
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEEDS = (1, 2)
LEAGUES = {"league_quick.yaml": 3, "league_oracles.yaml": 2}  # config: rounds
TRAININGS = {"ppo_fast.yaml": 60_000, "reinforce_config.yaml": 20_000}  # config: own decisions
TIMED = ("seconds", "decisions_per_second")  # columns of progress.csv that depend on the clock
# Tables of a ledger whose rows are a function of settings and seed, and the order of the rows.
TABLES = {
    "members": "position",
    "rounds": "round",
    "tasks": "round, task",
    "meetings": "round, task, opponent",
    "states": "round, member",
    "matches": "round, task, leg",
    "decisions": "round, place",
}
BENCHMARK = """
import sys
from league import benchmark
benchmark("expert", ["dev"], results=sys.argv[1], sample=60, replicates=1, allow_uncommitted=True)
"""


def digest(parts: Iterable[object]) -> str:
    """SHA-256 over the representations of ``parts``, its first 16 digits."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(repr(part).encode() + b"\0")
    return hashed.hexdigest()[:16]


def run(checkout: Path, folder: Path, *words: object) -> None:
    """Run Python with ``words`` in ``folder``, with the packages of ``checkout``, on one thread."""
    env = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    process = subprocess.run([sys.executable, *map(str, words)], cwd=folder, env=env, capture_output=True, text=True)  # noqa: S603
    if process.returncode:
        sys.exit(f"{' '.join(map(str, words))} ended with {process.returncode}:\n{process.stderr[-2000:]}")


def ledger_digests(path: Path) -> Iterator[tuple[str, str]]:
    """Each table of a ledger with the digest of its rows, but for names of weights, which cover their notes too."""
    with sqlite3.connect(path) as db:
        for table, order in TABLES.items():
            rows = db.execute(f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608  # names above
            shown = [index for index, column in enumerate(rows.description) if column[0] != "blob"]
            yield table, digest(tuple(row[index] for index in shown) for row in rows)


def csv_digests(folder: Path) -> Iterator[tuple[str, str]]:
    """Each CSV file of a run: its headings, and the digest of its rows without columns of the clock."""
    for path in sorted(folder.rglob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            rows = [{name: value for name, value in row.items() if name not in TIMED} for row in csv.DictReader(file)]
        headings = path.read_text(encoding="utf-8").split("\n", 1)[0].strip()
        yield f"{path.name} [{headings}]", digest(rows)


def weight_digests(folder: Path) -> Iterator[tuple[str, str]]:
    """The digest of all tensors of a run, without the notes next to them, which hold digests of the settings."""
    contents = [file.read_bytes() for file in folder.rglob("*.safetensors")]
    bodies = sorted(content[8 + int.from_bytes(content[:8], "little") :] for content in contents)
    yield f"{len(bodies)} files of weights", digest(bodies)


def fingerprints(checkout: Path, folder: Path) -> Iterator[str]:
    """One line per result."""
    for script, key, runs in (
        ("league", "league.rounds", LEAGUES),
        ("train", "training.num_train_steps", TRAININGS),
    ):
        for config, number in runs.items():
            for seed in SEEDS:
                run_folder = folder / f"{config}_{seed}"
                run_folder.mkdir()
                words = ("--config", checkout / "configs" / config, "--seed", seed, "--set", f"{key}={number}")
                run(checkout, run_folder, checkout / "scripts" / f"{script}.py", *words, "--quiet")
                for path in sorted(run_folder.rglob("ledger.sqlite")):
                    yield from (f"{config} {seed} {name}: {value}" for name, value in ledger_digests(path))
                for name, value in (*csv_digests(run_folder), *weight_digests(run_folder)):
                    yield f"{config} {seed} {name}: {value}"
    run(checkout, folder, "-c", BENCHMARK, folder / "bench.jsonl")
    row = json.loads((folder / "bench.jsonl").read_text(encoding="utf-8"))
    for name in ("figures", "cells"):
        yield f"expert against dev, {name}: {digest([json.dumps(row[name], sort_keys=True)])}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=ROOT, help="folder of the checkout to run (this one)")
    checkout = parser.parse_args().checkout.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        for line in fingerprints(checkout, Path(temporary)):
            print(line, flush=True)
