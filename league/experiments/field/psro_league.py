"""A league of ours as policy-space response oracles (Lanctot et al. 2017, algorithm 1): ``league_psro.yaml``, smaller.

It learns in this game, so many own decisions in all; what its own decisions and processor time were is kept beside it.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from dond_marl import __version__
from league.experiments.field.published.self_taught import LeagueSection, Made, made
from league.experiments.kept import place, read, write
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import RunDirectory, newest_run
from league.settings.presets import preset
from league.settings.read import dump, load_config

OURS = "league_psro"
LEARNER, ROUNDS, LEARNING = "oracle", 7, 4  # of how many rounds it learns in so many; the others are of matches
WAY = 1  # of learning: one more whenever the same settings and seed come to other weights


class OwnLeague(NamedTuple):
    """Ours, played to its end."""

    made: Made
    decisions: int  # own decisions that were learned from, of all oracles
    seconds: float | None  # of processor time, with its matches; None where it was stopped in between
    digest: str  # of all rows of its ledger, weights too


def ours(decisions: int, seed: int, folder: Path) -> OwnLeague:
    """Ours: a league whose oracles learned from that many own decisions, and a few more."""
    section = _section(decisions)
    path = place(folder, learning_of_ours(section, seed))
    fresh, began = not path.with_suffix("").exists(), process_time()
    players, kept = made(section, seed, path.with_suffix("")), read(path)
    if kept is None:
        run = newest_run(path.with_suffix(""))
        kept = {"seconds": process_time() - began if fresh else None, "decisions": _own_decisions(run)}
        write(path, kept)
    with ReadLedger(newest_run(path.with_suffix("")).ledger) as ledger:
        return OwnLeague(players, kept["decisions"], kept["seconds"], ledger.fingerprint())


def learning_of_ours(section: LeagueSection, seed: int) -> dict[str, Any]:
    """All that the weights of ours are a function of, as plain values: the shipped settings too."""
    shipped = dump(load_config(preset(Path(section.config))))
    return {
        "who": OURS,
        "league": section.model_dump(mode="json"),
        "shipped": shipped,
        "seed": seed,
        **learned_with(WAY, "torch"),
    }


def _section(decisions: int) -> LeagueSection:
    learner = {
        "name": LEARNER, "decisions": max(1, decisions // LEARNING), "minibatch": 2048, "num_envs": 512,
        "snapshot_every": 2, "reset": 1.0, "matchmaking": "meta_mixture",
    }  # fmt: skip
    settings = {"heldout": [], "league.rounds": ROUNDS, "learners": [learner], "logging.tensorboard": True}
    return LeagueSection(name="psro", config="league_psro.yaml", member=LEARNER, plays="mixture", settings=settings)


def _own_decisions(run: RunDirectory) -> int:
    """Of all lives of the learner: the ledger knows when each ended, TensorBoard's file how far it had come."""
    from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
        EventAccumulator,
    )

    events = EventAccumulator(str(run.path)).Reload().Scalars(f"{LEARNER}/decisions")
    counted = {event.step: int(event.value) for event in events}
    with ReadLedger(run.ledger) as ledger:
        ends = [
            number + 1
            for number in range(ledger.next_round)
            if any(taken.kind == "reset" and taken.taken for taken in ledger.decisions(number))
        ]
        return sum(counted[end] for end in ends) + ledger.states()[LEARNER].decisions


def learned_with(way: int, *packages: str) -> dict[str, Any]:
    """By which way of learning and with what, as plain values."""
    return {"way": way, "versions": {"dond-marl": __version__, **{name: version(name) for name in packages}}}
