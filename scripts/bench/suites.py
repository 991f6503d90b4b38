"""Suites of the benchmark: the workload of each row, its peer and its bar."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence

from league.evaluation.evaluate import BEST
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.training.training import begin, final_score, final_shares
from partners.rosters import TRAIN, roster
from scripts.bench import environments, league_runs, learning, queries
from scripts.bench.report import BenchmarkRow, against, rate

Suite = Callable[[int, float], Iterator[BenchmarkRow]]


def measure(names: Sequence[str], repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    """Measure the named suites and yield their rows one by one."""
    for name in names:
        yield from SUITES[name](repeats, seconds)


def _engine(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    for play in environments.PLAYS:
        yield against(
            f"batched engine, {play}",
            f"ready-made acts of {play} play, {environments.ENGINE_GAMES:,} games in lock-step, complete Turns each "
            "step (history, masks, features); the peer steps the same kind of play game by game, chance by index, "
            "observation read",
            "acts/s",
            environments.engine(play),
            "OpenSpiel bargaining from Python",
            lambda play=play: environments.engine_openspiel(play),  # type: ignore[misc]
            10,
            (repeats, seconds),
        )


def _aec(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    peers = (
        ("PettingZoo connect_four_v3 env()", environments.aec_connect_four, 3),
        ("OpenSpiel bargaining, Shimmy", environments.aec_shimmy, 12),
    )
    for peer, make, bar in peers:
        yield against(
            "AEC env()",
            f"agent_iter and last over {environments.AEC_GAMES} scripted games, uniform over all legal actions, "
            "observations read",
            "acts/s",
            environments.aec(),
            peer,
            make,
            bar,
            (repeats, seconds),
        )


def _vector(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    for partner in environments.VECTOR_PARTNERS:
        yield against(
            f"DealVectorEnv, {partner}",
            f"{environments.VECTOR_GAMES:,} games in lock-step, uniform legal numbered acts, box observations, "
            f"masks, the partner's "
            f"answers, begun anew at once; the peer steps {environments.VECTOR_PEERS} games",
            "own acts/s",
            environments.vector(partner),
            "Gymnasium SyncVectorEnv of SingleAgentView",
            lambda partner=partner: environments.vector_of_single_views(partner),  # type: ignore[misc]
            30,
            (repeats, seconds),
        )


def _practice(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    work = league_runs.practice_of_main()
    work()  # warm up
    rates = [rate(work, seconds, time.process_time) for _ in range(repeats)]
    workload = (
        f"configs/league.yaml's main against the {len(roster(TRAIN))} partners of the roster train, drawn for every "
        f"game: tasks of {league_runs.DECISIONS:,} own decisions, play and update; "
        f"{1e6 / max(rates):.1f} to {1e6 / min(rates):.1f} us a decision"
    )
    yield BenchmarkRow("practice of the default league", workload, "decisions/s", 1, statistics.median(rates))


def _partners(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    members = roster(TRAIN)
    yield against(
        "generated partners",
        f"decisions on all turns of {league_runs.ACT_GAMES:,} games between generated partners, a new program in every "
        "game; the peer: every member of the roster on the same turns, so that its rate is that of their mean cost",
        "decisions/s",
        league_runs.decisions_of(["generated"]),
        f"the {len(members)} partners of the roster train",
        lambda: league_runs.decisions_of(members),
        0.5,
        (repeats, seconds),
    )


def _league(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    yield against(
        "whole league path",
        "one round of configs/league_scripted.yaml: settings to CSV, without the ratings at a league's very end "
        "(league.evaluate=false); against rollout alone",
        "games/s",
        league_runs.whole_league(),
        "the bare play loop, same matches",
        league_runs.bare_loop,
        0.9,
        (repeats, seconds),
    )


def _imports(repeats: int, _seconds: float) -> Iterator[BenchmarkRow]:
    taken, heavy = league_runs.import_seconds(repeats), league_runs.heavy_modules()
    yield BenchmarkRow(
        "import dond_marl", "fresh interpreter, warm disk", "s", 1, taken, bar="< 0.5 s", reached=taken < 0.5
    )
    workload, bar = f"import dond_marl, partners, hints: {heavy}", f"none of {', '.join(league_runs.HEAVY)}"
    yield BenchmarkRow("heavy modules", workload, "modules", 1, len(heavy), bar=bar, reached=not heavy)


def _learning(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    run, peer = (repeats, seconds), "CleanRL-style PPO over SuperSuit, this game"
    scale = f"{learning.GAMES} games, {learning.STEPS} decisions of each an update, {learning.MINIBATCHES} minibatches"
    scale += ", 4 epochs, 2x128 tanh"
    yield against(
        "PPO training",
        f"play and update, {scale}; ours counts its own decisions, not those of the heuristic that it plays against in "
        "lock-step; the peer plays both seats and counts every act, its idle seats not forwarded",
        "decisions/s",
        learning.on_threads(2, learning.training(learning.MATCHED)),
        peer,
        lambda: learning.on_threads(2, learning.cleanrl()),
        5,
        run,
        threads=2,
    )
    yield against(
        "PPO update alone",
        f"all epochs, again and again on one rollout of own decisions, on both sides; {scale}",
        "decisions/s",
        learning.on_threads(2, learning.update()),
        peer,
        lambda: learning.on_threads(2, learning.cleanrl_update()),
        None,
        run,
        threads=2,
    )
    with learning.league_workers(2) as workers:
        yield against(
            "PPO training, two workers",
            "play and update (1,024 games, minibatches of 4,096, 4 epochs, 2x128), own "
            "decisions of two processes of one thread each; the peer as above",
            "decisions/s",
            workers,
            peer,
            lambda: learning.on_threads(2, learning.cleanrl()),
            9,
            run,
            threads=2,
        )
    yield against(
        "acting",
        f"two frozen 2x128 networks, {learning.ACTING_GAMES:,} games in lock-step, sampled play; the peer: the same "
        "weights and tables, PyTorch's own layers, four masked Categoricals",
        "acts/s",
        learning.on_threads(1, learning.acting()),
        "plain PyTorch loop",
        lambda: learning.on_threads(1, learning.plain_acting()),
        2.5,
        run,
    )
    for hint in ("random", "expert"):
        yield against(
            f"training with {hint} hints",
            "as with two workers, in this process; a hint at every own step; without hints as the peer",
            "decisions/s",
            learning.on_threads(1, learning.training(learning.LARGE, hint)),
            "no hints",
            lambda: learning.on_threads(1, learning.training(learning.LARGE)),
            0.6,
            run,
        )


def _memory(repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    for reads, more, bar in (
        ("reading the history", {"history": "flat"}, 0.7),
        ("with a joint head", {"head": "joint"}, None),
        ("both", {"history": "flat", "head": "joint"}, None),
    ):
        yield against(
            f"training, {reads}",
            "1,024 games, minibatches of 2,048, 3 epochs, 2x128, items in order, against the default heuristic, play "
            "and update; the same memoryless and factored as the peer",
            "decisions/s",
            learning.on_threads(1, learning.training({**learning.ORDERED, **more})),
            "memoryless, factored",
            lambda: learning.on_threads(1, learning.training(learning.ORDERED)),
            bar,
            (repeats, seconds),
        )


# Least points of ten, and share of what the best response earns, after so many seconds of playing and learning.
SCORE_BARS: dict[int, tuple[float | None, float | None]] = {
    10: (None, None), 30: (None, None), 60: (7.3, 0.97), 180: (7.5, 0.985),
}  # fmt: skip


def _score(_repeats: int, _seconds: float) -> Iterator[BenchmarkRow]:
    training = begin(load_config(league_runs.ROOT / "configs" / "ppo_fast.yaml", (), TrainConfig))
    for seconds, (least_points, least_share) in SCORE_BARS.items():
        while training.seconds < seconds and not training.is_complete:
            training.step()
        result, share = final_score(training, greedy=True), final_shares(training, greedy=True)[BEST]
        title = f"PPO from scratch, {seconds} s"
        yield _at_least(
            least_points,
            title,
            "configs/ppo_fast.yaml, greedy on the held-out scenarios, both seats, against the heuristic: "
            f"{training.learner.decisions:,} own decisions, interval +-{result.points.margin:.2f}, "
            f"{result.deals:.1%} deals",
            "points of ten",
            result.points.mean,
        )
        yield _at_least(
            least_share,
            f"{title}, compared with the best response",
            f"share of what the exact best response earns in the same games, interval +-{share.margin:.3f}",
            "of it",
            share.mean,
        )


def _at_least(bar: float | None, title: str, workload: str, unit: str, value: float) -> BenchmarkRow:
    if bar is None:
        return BenchmarkRow(title, workload, unit, 2, value)
    return BenchmarkRow(title, workload, unit, 2, value, bar=f">= {bar}", reached=value >= bar)


SUITES: dict[str, Suite] = {
    "aec": _aec,
    "backends": league_runs.backend_rows,
    "engine": _engine,
    "imports": _imports,
    "league": _league,
    "learning": _learning,
    "memory": _memory,
    "partners": _partners,
    "practice": _practice,
    "queries": queries.rows,
    "vector": _vector,
    "score": _score,
}
