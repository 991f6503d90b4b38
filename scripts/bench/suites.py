"""Suites of the benchmark: rows of name, unit, ours, peer and bar. What each side does is said where it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from league.evaluation.evaluate import BEST
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.training.training import begin, final_score, final_shares
from partners.rosters import TRAIN, roster
from scripts.bench import environments, league_runs, learning, queries
from scripts.bench.report import BenchmarkRow, Comparison, Timed, at_least

CLEANRL = "CleanRL-style PPO over SuperSuit, this game"


def on_threads(number: int, make: Callable[[], Timed]) -> Callable[[], Timed]:
    """The same work on ``number`` threads of PyTorch."""
    return lambda: learning.on_threads(number, make())


def ordered_training(**settings: object) -> Callable[[], Timed]:
    """A training with the items in order, by further settings, on one thread."""
    return on_threads(1, partial(learning.training, {**learning.ORDERED, **settings}))


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
    "league": (
        Comparison(
            "whole league path", "games/s", league_runs.whole_league,
            "the bare play loop, same matches", league_runs.bare_loop, 0.9,
        ),
    ),
    "learning": (
        Comparison(
            "PPO training", "decisions/s", on_threads(2, partial(learning.training, learning.MATCHED)),
            CLEANRL, on_threads(2, learning.cleanrl), 5, threads=2,
        ),
        Comparison(
            "PPO update alone", "decisions/s", on_threads(2, learning.update),
            CLEANRL, on_threads(2, learning.cleanrl_update), threads=2,
        ),
        Comparison(
            "PPO training, two workers", "decisions/s", partial(learning.league_workers, 2),
            CLEANRL, on_threads(2, learning.cleanrl), 9, threads=2,
        ),
        Comparison(
            "acting", "acts/s", on_threads(1, learning.acting),
            "plain PyTorch loop", on_threads(1, learning.plain_acting), 2.5,
        ),
        *(
            Comparison(
                f"training with {hint} hints", "decisions/s",
                on_threads(1, partial(learning.training, learning.LARGE, hint)),
                "no hints", on_threads(1, partial(learning.training, learning.LARGE)), 0.6,
            )
            for hint in ("random", "expert")
        ),
    ),
    "memory": tuple(
        Comparison(
            f"training, {what}", "decisions/s", ordered_training(**settings),
            "memoryless, factored", ordered_training(), bar,
        )
        for what, settings, bar in (
            ("reading the history", {"history": "flat"}, 0.7),
            ("with a joint head", {"head": "joint"}, None),
            ("both", {"history": "flat", "head": "joint"}, None),
        )
    ),
    "partners": (
        Comparison(
            "generated partners", "decisions/s", partial(league_runs.decisions_of, ["generated"]),
            f"the {len(roster(TRAIN))} partners of the roster train",
            partial(league_runs.decisions_of, roster(TRAIN)), 0.5,
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


# Least points of ten, and share of what the best response earns, after so many seconds of playing and learning.
SCORE_BARS: dict[int, tuple[float | None, float | None]] = {
    10: (None, None), 30: (None, None), 60: (7.3, 0.97), 180: (7.5, 0.985),
}  # fmt: skip


def score(_repeats: int, _seconds: float) -> Iterator[BenchmarkRow]:
    """Points of configs/ppo_fast.yaml, greedy on the held-out scenarios against the heuristic, both seats."""
    training = begin(load_config(league_runs.ROOT / "configs" / "ppo_fast.yaml", (), TrainConfig))
    for seconds, (least_points, least_share) in SCORE_BARS.items():
        while training.seconds < seconds and not training.is_complete:
            training.step()
        result, share = final_score(training, greedy=True), final_shares(training, greedy=True)[BEST]
        title, decisions = f"PPO from scratch, {seconds} s", f"{training.learner.decisions:,} own decisions"
        note = f"{decisions}, interval +-{result.points.margin:.2f}, {result.deals:.1%} deals"
        yield at_least(title, "points of ten", result.points.mean, least_points, note)
        note = f"share of what the exact best response earns in the same games, interval +-{share.margin:.3f}"
        yield at_least(f"{title}, compared with the best response", "of it", share.mean, least_share, note)


SUITES: dict[str, Callable[[int, float], Iterator[BenchmarkRow]]] = {
    "backends": league_runs.backend_rows,
    "imports": league_runs.import_rows,
    "practice": league_runs.practice_rows,
    "queries": queries.rows,
    "score": score,
}


def measure(names: Sequence[str], repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    """Measure the named suites and yield their rows one by one."""
    for name in names:
        if name in SUITES:
            yield from SUITES[name](repeats, seconds)
        else:
            yield from (comparison.measure(repeats, seconds) for comparison in COMPARISONS[name])
