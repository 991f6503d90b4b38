"""Suites of the benchmark: rows of name, unit, ours, peer and bar. Each side is described where it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from dond_marl.batch import GameBatch
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import Noise, observe_turns
from dond_marl.scenarios.sources import open_source
from league.settings.training import TrainConfig
from league.training.training import begin
from partners.rosters import TRAIN, roster
from scripts.bench import environments, growth, time_to_score
from scripts.bench.report import BenchmarkRow, Comparison, Timed

ACT_GAMES = 2048  # games whose turns the partners are queried about
# Settings of the trainings that are compared with each other.
ORDERED = {"num_envs": 1024, "rollout": 4, "minibatch": 2048, "epochs": 3, "lr": 1.5e-3, "ent": 0.01, "gamma": 1.0,
           "sorted_items": True}  # fmt: skip


def training(**settings: str) -> Timed:
    """Play and update once, as ``dond train`` does against the default heuristic; one unit is one own decision."""
    document: dict[str, Any] = {"env": {"scenarios": "lewis", "split": "train"}, "training": {**ORDERED, **settings}}
    trained = begin(TrainConfig.model_validate(document))

    def work() -> int:
        before = trained.learner.decisions
        trained.step()
        return trained.learner.decisions - before

    return work


def decisions_of(names: Sequence[str]) -> Timed:
    """Every one of the occupants on the same turns, of games between generated partners; one unit is one decision."""
    played, turns = [seat_occupant(name) for name in names], []
    noise, generated = Noise(0, (0,), ACT_GAMES), seat_occupant("generated")
    table = GameBatch(open_source("lewis").draw(generator(0, "turns"), ACT_GAMES))
    while table.open:
        turns.append(observe_turns(table, noise, deterministic=False))
        table.step(generated.act(turns[-1]))

    def work() -> int:
        for partner in played:
            for batch in turns:
                partner.act(batch)
        return len(played) * sum(batch.size for batch in turns)

    return work


COMPARISONS: dict[str, tuple[Comparison, ...]] = {
    "aec": (
        Comparison(
            "AEC env()", "acts/s", environments.aec,
            "PettingZoo connect_four_v3 env()", environments.aec_connect_four, 3,
        ),
        Comparison(
            "AEC env()", "acts/s", environments.aec,
            "OpenSpiel bargaining, Shimmy", environments.aec_shimmy, 12,
        ),
    ),
    "engine": tuple(
        Comparison(
            f"batched engine, {play}", "acts/s", partial(environments.engine, play),
            "OpenSpiel bargaining from Python", partial(environments.engine_openspiel, play), 10,
        )
        for play in environments.PLAYS
    ),
    "memory": tuple(
        Comparison(
            f"training, {kind}", "decisions/s", partial(training, **settings), "memoryless, factored", training, bar,
        )
        for kind, settings, bar in (
            ("reading the history", {"history": "flat"}, 0.7),
            ("with a joint head", {"head": "joint"}, None),
            ("both", {"history": "flat", "head": "joint"}, None),
        )
    ),
    "partners": (
        Comparison(
            "generated partners", "decisions/s", partial(decisions_of, ["generated"]),
            f"the {len(roster(TRAIN))} partners of the roster train", partial(decisions_of, roster(TRAIN)), 0.5,
        ),
    ),
    "vector": tuple(
        Comparison(
            f"DealVectorEnv, {partner}", "own acts/s", partial(environments.vector, partner),
            "Gymnasium SyncVectorEnv of SingleAgentView", partial(environments.vector_of_single_views, partner), 30,
        )
        for partner in environments.VECTOR_PARTNERS
    ),
}  # fmt: skip


SUITES: dict[str, Callable[[], Iterator[BenchmarkRow]]] = {"growth": growth.rows, "time_to_score": time_to_score.rows}


def measure(names: Sequence[str], repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    """Measure the named suites and yield their rows one by one."""
    for name in names:
        if name in SUITES:
            yield from SUITES[name]()
        else:
            yield from (comparison.measure(repeats, seconds) for comparison in COMPARISONS[name])
