"""The whole path of a league compared with bare play, and the imports of the packages.

Both sides of the path play the very same matches of the scripted roster; the league adds planning, facts, the ledger's
transactions and the standings.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.seats import Partner
from league.display.league import PlainWatcher
from league.ledger.run_directory import new_run
from league.rounds.planner import members_of, plan_round
from league.rounds.runner import run_league
from league.settings.read import load_config
from league.standings.history import History
from league.tasks.seating import SEATING
from league.tasks.values import Entrant
from scripts.bench.report import Timed

ROOT = Path(__file__).resolve().parents[2]
SCRIPTED = ROOT / "configs" / "league_scripted.yaml"
HEAVY = ("torch", "transformers", "groq", "ray")


def whole_league() -> Timed:
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
    prior, rules = SEATING.source(config.env).prior, config.env.rules()

    def work() -> int:
        games = 0
        for task in plan_round(config, History(members_of(config), config.league.decay), {}).matches:
            scenarios = SEATING.scenarios(config.env, task.seed, task.block)
            for order, leg in enumerate(task.legs):
                occupants = _scripted_partner(leg[0]), _scripted_partner(leg[1])
                rollout(occupants, scenarios, rules, seed=task.seed, index=(0, task.number, order), prior=prior)
                games += scenarios.size
        return games

    return work


def _scripted_partner(seated: Entrant) -> Partner:
    assert seated.member.spec is not None
    return seat_occupant(seated.member.spec)


def import_seconds(repeats: int) -> float:
    """Median seconds of ``import dond_marl`` in a fresh interpreter, without the start of the interpreter."""
    code = "import time; t = time.perf_counter(); import dond_marl; print(time.perf_counter() - t)"
    return statistics.median(float(_python(code)) for _ in range(repeats))


def heavy_modules() -> list[str]:
    """Heavy libraries that are loaded by importing the light packages; none is right."""
    code = "import sys, dond_marl, partners, hints; print(*[m for m in sys.modules if m.split('.')[0] in %r])"
    return _python(code % (HEAVY,)).split()


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)  # noqa: S603
    return done.stdout
