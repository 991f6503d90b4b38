"""Suites of the benchmark: rows of name, unit, ours, peer and bar. Each side is described where it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from league.evaluation.exploitability import BEST
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.training.training import begin, final_score, final_shares
from partners.rosters import TRAIN, roster
from scripts.bench import environments, growth, league_runs, learning, time_to_score
from scripts.bench.report import BenchmarkRow, Comparison

CLEANRL = "CleanRL-style PPO over SuperSuit, this game"


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
            "PPO training", "decisions/s", partial(learning.training, learning.MATCHED),
            CLEANRL, learning.cleanrl, 5, threads=2,
        ),
        Comparison(
            "PPO update alone", "decisions/s", learning.update,
            CLEANRL, partial(learning.cleanrl, plays=False), threads=2,
        ),
        Comparison(
            "PPO training, two workers", "decisions/s", partial(learning.league_workers, 2),
            CLEANRL, learning.cleanrl, 9, threads=2,
        ),
        Comparison(
            "acting", "acts/s", learning.acting, "plain PyTorch loop", learning.plain_acting, 2.5,
        ),
        *(
            Comparison(
                f"training with {hint} hints", "decisions/s",
                partial(learning.training, learning.LARGE, hint),
                "no hints", partial(learning.training, learning.LARGE), 0.7,
            )
            for hint in ("random", "expert")
        ),
    ),
    "memory": tuple(
        Comparison(
            f"training, {kind}", "decisions/s", partial(learning.training, {**learning.ORDERED, **settings}),
            "memoryless, factored", partial(learning.training, learning.ORDERED), bar,
        )
        for kind, settings, bar in (
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
SCORE_BARS = {10: (0.0, 0.0), 30: (0.0, 0.0), 60: (7.3, 0.97), 180: (7.5, 0.985)}  # 0: no bar


def score(_repeats: int, _seconds: float) -> Iterator[BenchmarkRow]:
    """Points of configs/ppo_fast.yaml, greedy on the held-out scenarios against the heuristic, both seats."""
    training = begin(load_config(league_runs.ROOT / "configs" / "ppo_fast.yaml", (), TrainConfig))
    for seconds, (least_points, least_share) in SCORE_BARS.items():
        while training.seconds < seconds and not training.is_complete:
            training.step()
        result, share = final_score(training, greedy=True), final_shares(training, greedy=True)[BEST]
        title, decisions = f"PPO from scratch, {seconds} s", f"{training.learner.decisions:,} own decisions"
        note = f"{decisions}, interval +-{result.points.margin:.2f}, {result.deals:.1%} deals"
        yield at_least(BenchmarkRow(title, "points of ten", 2, result.points.mean, note=note), least_points)
        note = f"share of what the exact best response earns in the same games, interval +-{share.margin:.3f}"
        title = f"{title}, compared with the best response"
        yield at_least(BenchmarkRow(title, "of it", 2, share.mean, note=note), least_share)


def at_least(row: BenchmarkRow, bar: float) -> BenchmarkRow:
    """The row with a lower limit of its value, unless that is 0."""
    return row._replace(bar=f">= {bar}", reached=row.ours >= bar) if bar else row


SUITES: dict[str, Callable[[int, float], Iterator[BenchmarkRow]]] = {
    "backends": league_runs.backend_rows,
    "growth": growth.rows,
    "imports": league_runs.import_rows,
    "practice": league_runs.practice_rows,
    "score": score,
    "time_to_score": time_to_score.rows,
}


def measure(names: Sequence[str], repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    """Measure the named suites and yield their rows one by one."""
    for name in names:
        if name in SUITES:
            yield from SUITES[name](repeats, seconds)
        else:
            yield from (comparison.measure(repeats, seconds) for comparison in COMPARISONS[name])
