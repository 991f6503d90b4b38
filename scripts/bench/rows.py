"""The rows of the benchmark: what is compared, with whom, and the bar to reach."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from partners.rosters import TRAIN, roster
from scripts.bench import (
    aec,
    backends,
    device,
    engine,
    league_path,
    league_practice,
    league_scale,
    learning,
    time_to_score,
    vector,
)
from scripts.bench.report import Row, Timed, compare, rate

Suite = Callable[[int, float], Iterator[Row]]


def measure(names: Sequence[str], repeats: int, seconds: float, on: str = "cpu") -> Iterator[Row]:
    """Every row of the named suites, as it is measured; ``on``: the device of the suite of that name."""
    for name in names:
        yield from (partial(device.rows, on) if name == "device" else SUITES[name])(repeats, seconds)


def _against(
    what: str,
    workload: str,
    unit: str,
    ours: Timed,
    peer: str,
    make: Callable[[], Timed],
    bar: float | None,
    run: tuple[int, float],
    threads: int = 1,
) -> Row:
    repeats, seconds = run
    clock = time.process_time if threads == 1 else time.perf_counter  # of one thread: whoever else works does not count
    needed = "none" if bar is None else f"{bar}x"
    try:
        theirs = make()
    except ImportError:
        return Row(what, workload, unit, threads, rate(ours, seconds, clock), f"{peer}: not installed", bar=needed)
    mine, peers, ratio = compare(ours, theirs, repeats, seconds, clock)
    reached = None if bar is None else ratio >= bar
    return Row(what, workload, unit, threads, mine, peer, peers, ratio, needed, reached)


def _engine(repeats: int, seconds: float) -> Iterator[Row]:
    for play in engine.PLAYS:
        yield _against(
            f"batched engine, {play}",
            f"ready-made acts of {play} play, {engine.GAMES:,} games in lock-step, complete Turns each step (history, "
            f"masks, features); the peer steps the same kind of play game by game, chance by index, observation read",
            "acts/s",
            engine.ours(play),
            "OpenSpiel bargaining from Python",
            lambda play=play: engine.openspiel(play),  # type: ignore[misc]
            10,
            (repeats, seconds),
        )


def _aec(repeats: int, seconds: float) -> Iterator[Row]:
    peers = (
        ("PettingZoo connect_four_v3 env()", aec.connect_four, 3),
        ("OpenSpiel bargaining, Shimmy", aec.shimmy, 12),
    )
    for peer, make, bar in peers:
        yield _against(
            "AEC env()",
            f"agent_iter and last over {aec.GAMES} scripted games, uniform over all legal actions, observations read",
            "acts/s",
            aec.ours(),
            peer,
            make,
            bar,
            (repeats, seconds),
        )


def _vector(repeats: int, seconds: float) -> Iterator[Row]:
    for partner in vector.PARTNERS:
        yield _against(
            f"DealVectorEnv, {partner}",
            f"{vector.GAMES:,} games in lock-step, uniform legal numbered acts, box observations, masks, the partner's "
            f"answers, begun anew at once; the peer steps {vector.PEERS} games",
            "own acts/s",
            vector.ours(partner),
            "Gymnasium SyncVectorEnv of SingleAgentView",
            lambda partner=partner: vector.single_views(partner),  # type: ignore[misc]
            30,
            (repeats, seconds),
        )


def _practice(repeats: int, seconds: float) -> Iterator[Row]:
    work = league_practice.practicing()
    work()  # warm up
    rates = [rate(work, seconds, time.process_time) for _ in range(repeats)]
    workload = (
        f"configs/league.yaml's main against the {len(roster(TRAIN))} partners of the roster train, drawn for every "
        f"game: tasks of {league_practice.DECISIONS:,} own decisions, play and update; "
        f"{1e6 / max(rates):.1f} to {1e6 / min(rates):.1f} us a decision"
    )
    yield Row("practice of the default league", workload, "decisions/s", 1, statistics.median(rates))


def _league(repeats: int, seconds: float) -> Iterator[Row]:
    yield _against(
        "whole league path",
        "one round of configs/league_scripted.yaml: settings to CSV, without the ratings at a league's very end "
        "(league.evaluate=false); against rollout alone",
        "games/s",
        league_path.through_the_league(),
        "the bare play loop, same matches",
        league_path.bare_loop,
        0.9,
        (repeats, seconds),
    )
    ran = league_path.default_league()
    workload = "configs/league.yaml as it stands, in one process"
    limits = (
        ("default league, start to end", "minutes", ran.minutes, "< 10 minutes", 10),
        ("memory of the default league", "MB", ran.megabytes, "< 2,000 MB", 2000),
        ("planning, ledger and folds of its rounds' time", "%", 100 * ran.overhead, "<= 5 %", 5),
    )
    for what, unit, value, bar, limit in limits:
        yield Row(what, workload, unit, 1, value, bar=bar, reached=value <= limit)


def _imports(repeats: int, _seconds: float) -> Iterator[Row]:
    taken, heavy = league_path.import_seconds(repeats), league_path.heavy_modules()
    yield Row("import dond_marl", "fresh interpreter, warm disk", "s", 1, taken, bar="< 0.5 s", reached=taken < 0.5)
    workload, bar = f"import dond_marl, partners, hints: {heavy}", f"none of {', '.join(league_path.HEAVY)}"
    yield Row("heavy modules", workload, "modules", 1, len(heavy), bar=bar, reached=not heavy)


def _learning(repeats: int, seconds: float) -> Iterator[Row]:
    run, peer = (repeats, seconds), "CleanRL-style PPO over SuperSuit, this game"
    scale = f"{learning.GAMES} games, {learning.STEPS} decisions of each an update, {learning.MINIBATCHES} minibatches"
    scale += ", 4 epochs, 2x128 tanh"
    yield _against(
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
    yield _against(
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
        yield _against(
            "PPO training, two workers",
            "play and update with the league's settings (1,024 games, minibatches of 4,096, 4 epochs, 2x128), own "
            "decisions of two processes of one thread each; the peer as above",
            "decisions/s",
            workers,
            peer,
            lambda: learning.on_threads(2, learning.cleanrl()),
            9,
            run,
            threads=2,
        )
    yield _against(
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
        yield _against(
            f"training with {hint} hints",
            "the league's settings, a hint at every own step; without hints as the peer",
            "decisions/s",
            learning.on_threads(1, learning.training(learning.LEAGUE, hint)),
            "no hints",
            lambda: learning.on_threads(1, learning.training(learning.LEAGUE)),
            0.6,
            run,
        )


def _memory(repeats: int, seconds: float) -> Iterator[Row]:
    for reads, more, bar in (
        ("reading the history", {"history": "flat"}, 0.7),
        ("with a joint head", {"head": "joint"}, None),
        ("both", {"history": "flat", "head": "joint"}, None),
    ):
        yield _against(
            f"training, {reads}",
            "the settings of the default league's main (1,024 games, minibatches of 2,048, 3 epochs, 2x128, items in "
            "order) against the default heuristic, play and update; the same memoryless and factored as the peer",
            "decisions/s",
            learning.on_threads(1, learning.training({**learning.MAIN, **more})),
            "memoryless, factored",
            lambda: learning.on_threads(1, learning.training(learning.MAIN)),
            bar,
            (repeats, seconds),
        )


def _score(_repeats: int, _seconds: float) -> Iterator[Row]:
    bars, shares = {60: 7.3, 180: 7.5}, {60: 0.97, 180: 0.985}
    for mark in time_to_score.marks():
        what = f"PPO from scratch, {mark.seconds} s"
        yield _at_least(
            bars.get(mark.seconds),
            what,
            "configs/ppo_fast.yaml, greedy on the held-out scenarios, both seats, against the heuristic: "
            f"{mark.decisions:,} own decisions, interval +-{mark.margin:.2f}, {mark.deals:.1%} deals",
            "points of ten",
            mark.points,
        )
        yield _at_least(
            shares.get(mark.seconds),
            f"{what}, beside the best response",
            f"share of what the exact best response earns in the same games, interval +-{mark.of_response_margin:.3f}",
            "of it",
            mark.of_response,
        )


def _at_least(bar: float | None, what: str, workload: str, unit: str, value: float) -> Row:
    if bar is None:
        return Row(what, workload, unit, 2, value)
    return Row(what, workload, unit, 2, value, bar=f">= {bar}", reached=value >= bar)


SUITES: dict[str, Suite] = {
    "aec": _aec,
    "backends": backends.rows,
    "device": partial(device.rows, "cpu"),
    "engine": _engine,
    "imports": _imports,
    "league": _league,
    "learning": _learning,
    "memory": _memory,
    "practice": _practice,
    "scale": league_scale.rows,
    "vector": _vector,
    "score": _score,
}
