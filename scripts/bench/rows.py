"""The rows of the benchmark: what is compared, with whom, and the bar to reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scripts.bench import aec, engine, league_path
from scripts.bench.report import Row, Timed, compare, rate

Suite = Callable[[int, float], Iterator[Row]]


def measure(names: Sequence[str], repeats: int, seconds: float) -> Iterator[Row]:
    """Every row of the named suites, as it is measured."""
    for name in names:
        yield from SUITES[name](repeats, seconds)


def _against(
    what: str,
    workload: str,
    unit: str,
    ours: Timed,
    peer: str,
    make: Callable[[], Timed],
    bar: float,
    run: tuple[int, float],
) -> Row:
    repeats, seconds = run
    try:
        theirs = make()
    except ImportError:
        return Row(what, workload, unit, 1, rate(ours, seconds), f"{peer}: not installed", None, None, f"{bar}x", None)
    mine, peers, ratio = compare(ours, theirs, repeats, seconds)
    return Row(what, workload, unit, 1, mine, peer, peers, ratio, f"{bar}x", ratio >= bar)


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


def _league(repeats: int, seconds: float) -> Iterator[Row]:
    yield _against(
        "whole league path",
        "one round of configs/league_scripted.yaml: settings to CSV; against rollout alone",
        "games/s",
        league_path.through_the_league(),
        "the bare play loop, same matches",
        league_path.bare_loop,
        0.9,
        (repeats, seconds),
    )
    size = league_path.default_league_megabytes()
    yield Row(
        "memory of the default league",
        "configs/league.yaml as it stands",
        "MB",
        1,
        size,
        "",
        None,
        None,
        "< 1,000 MB",
        size < 1000,
    )


def _imports(repeats: int, _seconds: float) -> Iterator[Row]:
    taken, heavy = league_path.import_seconds(repeats), league_path.heavy_modules()
    yield Row("import dond_marl", "fresh interpreter, warm disk", "s", 1, taken, "", None, None, "< 0.5 s", taken < 0.5)
    bar = f"none of {', '.join(league_path.HEAVY)}"
    yield Row(
        "heavy modules",
        f"import dond_marl, partners, hints: {heavy}",
        "modules",
        1,
        len(heavy),
        "",
        None,
        None,
        bar,
        not heavy,
    )


SUITES: dict[str, Suite] = {"aec": _aec, "engine": _engine, "imports": _imports, "league": _league}
