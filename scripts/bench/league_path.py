"""The whole league path against the bare play loop, and what the default league and our imports cost.

One unit is one game. Both sides play the very same matches of the scripted zoo; the league adds planning, facts, the
ledger's transactions and the folds.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rich.console import Console

from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.seats import Partner
from league.display.league import PlainWatcher
from league.ledger.ledger import Ledger
from league.ledger.run_directory import named_run, new_run
from league.rounds.planner import members_of, plan_round
from league.rounds.runner import run_league
from league.settings.read import load_config
from league.standings.history import History
from league.tasks.values import Seated, block_scenarios, open_source
from scripts.bench.report import Timed

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT / "configs" / "league.yaml"
SCRIPTED = ROOT / "configs" / "league_scripted.yaml"
HEAVY = ("torch", "transformers", "groq", "ray")


def through_the_league() -> Timed:
    """One round of the scripted league from settings to CSV."""
    folder, watcher = tempfile.TemporaryDirectory(), PlainWatcher(Console(quiet=True))

    def work() -> int:
        settings = ["league.rounds=1", "league.evaluate=false", f"logging.output_dir={folder.name}"]
        config = load_config(SCRIPTED, settings)
        return run_league(config, new_run(Path(folder.name)), watcher).cross.total_games

    return work


def bare_loop() -> Timed:
    """The same matches by ``rollout`` alone."""
    config = load_config(SCRIPTED, [])
    prior, rules = open_source(config.env).prior, config.env.rules()

    def work() -> int:
        games = 0
        for task in plan_round(config, History(members_of(config), config.league.decay), {}).matches:
            scenarios = block_scenarios(config.env, task.seed, task.block)
            for order, leg in enumerate(task.legs):
                occupants = _scripted(leg[0]), _scripted(leg[1])
                rollout(occupants, scenarios, rules, seed=task.seed, index=(0, task.number, order), prior=prior)
                games += scenarios.size
        return games

    return work


def _scripted(who: Seated) -> Partner:
    assert who.member.spec is not None
    return seat_occupant(who.member.spec)


class Ran(NamedTuple):
    """A league as a user runs it."""

    minutes: float
    megabytes: float  # the largest resident size
    overhead: float  # share of its rounds' time that went into planning, the ledger and the folds


def default_league() -> Ran:
    """The default league on one thread of one process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "scripts" / "league.py"), "--config", str(DEFAULT), "--workers", "1"]
        began = time.perf_counter()
        subprocess.run([*command, "--set", f"logging.output_dir={folder}"], check=True, capture_output=True)  # noqa: S603
        minutes = (time.perf_counter() - began) / 60
        with Ledger(named_run(Path(folder)).ledger) as ledger:
            seconds, overhead = ledger.clock()
    return Ran(minutes, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, overhead / seconds)


def import_seconds(repeats: int) -> float:
    """Median seconds of ``import dond_marl`` in a fresh interpreter, its start not counted."""
    code = "import time; t = time.perf_counter(); import dond_marl; print(time.perf_counter() - t)"
    return median(float(_python(code)) for _ in range(repeats))


def heavy_modules() -> list[str]:
    """Which heavy libraries importing our light packages loads; should be none."""
    code = "import sys, dond_marl, partners, hints; print(*[m for m in sys.modules if m.split('.')[0] in %r])"
    return _python(code % (HEAVY,)).split()


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)  # noqa: S603
    return done.stdout
