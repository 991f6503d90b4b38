"""Our occupants in Kaggle's game arena: every pair on the same tables, seats exchanged, counted as the arena counts.

A pair of games on one chance seed, seats exchanged, is the arena's unit (its ``ablation`` of prompts); it is ours too:
intervals are over seeds. Tables that hold five items of one type are left out, for networks do not know them. The
arena's own agent ``random`` plays by its name. Source: Kaggle/kaggle-environments, ``envs/open_spiel_env`` (Apache
2.0).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl import __version__
from dond_marl.envs.openspiel.kaggle import ENVIRONMENT, Agent, agent, table_of
from dond_marl.errors import InputError, RunFailure
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.space import LEWIS_MAX_COUNT
from dond_marl.yardsticks.metrics import Estimate, mean_of
from league.experiments.kept import place, read, write
from league.ledger.origin import commit
from league.tables.figures import with_margin
from league.tasks.values import machine
from partners.provenance import identity

CONFIDENCE = 0.95
TURNS = 10
RANDOM = "random"  # the arena's own agent
HEADS = ("who", "against", "games", "points, its own", "points, the other's", "deals", "has more", "has less")
DIGITS = 4

Who = tuple[str, str]  # a name, and the occupant that it stands for


class Pair(NamedTuple):
    """What two occupants got: of the first, means over tables with Student's interval; ``n`` counts tables."""

    first: str
    second: str
    points: Estimate
    left: Estimate
    deals: Estimate
    wins: Estimate  # share of games in which the first has more, and so on
    losses: Estimate


class Game(NamedTuple):
    """One game: the arena's rewards, the first player's first."""

    rewards: tuple[float, float]
    deal: bool


def perform(
    players: Sequence[Who], tables: int, folder: Path | None = None, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Pair]:
    """Every pair of ``players``, each with itself too, two games a table; what is kept in ``folder`` is not done again.

    Raises :class:`InputError` where the arena is not installed, :class:`RunFailure` for a game that it stops.
    """
    environment, seeds = arena(), list[int]()
    candidate, installed = 0, version("kaggle-environments")
    while len(seeds) < tables:
        if max(_pool(environment, candidate)) <= LEWIS_MAX_COUNT:
            seeds.append(candidate)
        candidate += 1
    tell(f"{tables} tables, chance seeds 0 to {seeds[-1]} without {candidate - tables} that hold five of one type")
    for first, second in combinations_with_replacement(players, 2):
        what = {"first": _known(first[1]), "second": _known(second[1]), "tables": tables, "arena": installed}
        path = None if folder is None else place(folder, what)
        known = None if path is None else read(path)
        if known is None:
            tell(f"{first[0]} and {second[0]}")
            known = {"games": [_both(environment, (first[1], second[1]), seed) for seed in seeds]}
            if path is not None:
                write(path, known)
        yield counted(first[0], second[0], [[Game(tuple(r), d) for r, d in both] for both in known["games"]])


def arena() -> Any:
    """The arena's environment. Raises :class:`InputError` where it is not installed."""
    try:
        from kaggle_environments import make
    except ModuleNotFoundError as error:
        raise InputError(
            f"Kaggle's arena is not installed ({error.name} is missing); in an environment of its own, for it pins "
            "other versions: pip install kaggle-environments, then run this command with that Python"
        ) from None
    settings = {"openSpielGameParameters": {"max_turns": TURNS}, "includeLegalActions": True}  # for its own agent
    return make(ENVIRONMENT, configuration=settings)


def _both(environment: Any, specs: tuple[str, str], seed: int) -> list[Game]:
    """Two games on one table, the first occupant opening in the first."""
    first, second = specs
    opened, other = (_game(environment, pair, seed) for pair in ((first, second), (second, first)))
    return [opened, Game((other.rewards[1], other.rewards[0]), other.deal)]


def _game(environment: Any, specs: tuple[str, str], seed: int) -> Game:
    environment.configuration["seed"] = seed
    _fresh(environment)
    environment.run([_agent(spec, 2 * seed + side) for side, spec in enumerate(specs)])
    states = environment.state
    if any(state.status != "DONE" for state in states):
        raise RunFailure(f"the arena stopped {specs[0]} against {specs[1]}: {[state.status for state in states]}")
    first, second = (float(state.reward) for state in states)
    last = json.loads(environment.info["stateHistory"][-1])
    return Game((first, second), bool(last["agreement_reached"]))


def _agent(spec: str, seed: int) -> Agent | str:
    return RANDOM if spec == RANDOM else agent(seat_occupant(spec), seed=seed)


def _known(spec: str) -> str:
    """What exactly plays: a file may hold other weights tomorrow."""
    return RANDOM if spec == RANDOM else identity(spec)


def _fresh(environment: Any) -> None:
    """Forget the last game: the environment keeps its OpenSpiel state and its generator on itself."""
    for name in ("os_game", "os_state", "chance_rng"):
        if hasattr(environment, name):
            delattr(environment, name)
    environment.info.clear()


def _pool(environment: Any, seed: int) -> tuple[int, int, int]:
    seen: list[tuple[int, int, int]] = []

    def looks(observation: Any, _configuration: Any) -> dict[str, int]:
        table = table_of(observation)
        if table is None:
            return {"submission": -1}
        seen.append(table[0])
        return {"submission": 0}

    environment.configuration["seed"] = seed
    _fresh(environment)
    environment.run([looks, looks])
    return seen[0]


def counted(first: str, second: str, games: Sequence[Sequence[Game]]) -> Pair:
    """The figures of two occupants over tables; ``games``: of each table, the first occupant's rewards first."""

    def over(value: Callable[[Game], float]) -> Estimate:
        return mean_of([sum(map(value, both)) / len(both) for both in games], CONFIDENCE)

    return Pair(
        first,
        second,
        over(lambda game: game.rewards[0]),
        over(lambda game: game.rewards[1]),
        over(lambda game: float(game.deal)),
        over(lambda game: float(game.rewards[0] > game.rewards[1])),
        over(lambda game: float(game.rewards[0] < game.rewards[1])),
    )


def markdown(pairs: Sequence[Pair]) -> str:
    """A row for each side of every pair, by who it is."""
    sides = [side for pair in pairs for side in (pair, _other_side(pair))[: 1 if pair.first == pair.second else 2]]
    order = list(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
    sides.sort(key=lambda side: (order.index(side.first), order.index(side.second)))
    heads = [f"| {' | '.join(HEADS)} |", f"| {' | '.join(['---'] * len(HEADS))} |"]
    return "\n".join([*heads, *map(_line, sides)]) + "\n"


def _other_side(pair: Pair) -> Pair:
    return Pair(pair.second, pair.first, pair.left, pair.points, pair.deals, pair.losses, pair.wins)


def _line(side: Pair) -> str:
    shares = [with_margin(each, "share") for each in (side.deals, side.wins, side.losses)]
    points = [with_margin(each) for each in (side.points, side.left)]
    return f"| {' | '.join([side.first, side.second, str(2 * side.points.n), *points, *shares])} |"


def lines(pairs: Sequence[Pair], players: Sequence[Who]) -> str:
    """The pairs as lines of JSON, after one that says what made them."""
    code = {"version": __version__, **commit(), **json.loads(machine())}
    at = datetime.now(UTC).isoformat("T", "seconds")
    arena_ = {"kaggle-environments": version("kaggle-environments"), "open_spiel": version("open_spiel")}
    head = {"players": {name: _known(spec) for name, spec in players}, "arena": arena_, "code": code, "at": at}
    return "".join(json.dumps(line) + "\n" for line in (head, *map(_plain, pairs)))


def parsed(text: Sequence[str]) -> list[Pair]:
    """The inverse of :func:`lines`, but for what they round. Raises :class:`InputError` for other lines."""
    try:
        return [_read(json.loads(line)) for line in text[1:]]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"no results of the arena ({error}); make them again: dond experiment kaggle") from None


def _plain(pair: Pair) -> dict[str, Any]:
    figures = {name: getattr(pair, name) for name in Pair._fields[2:]}
    return {"first": pair.first, "second": pair.second, **{name: _numbers(each) for name, each in figures.items()}}


def _numbers(estimate: Estimate) -> dict[str, float | int]:
    return {"n": estimate.n, **{key: round(getattr(estimate, key), DIGITS) for key in ("mean", "low", "high")}}


def _read(line: dict[str, Any]) -> Pair:
    figures = {name: Estimate(*(line[name][key] for key in Estimate._fields)) for name in Pair._fields[2:]}
    return Pair(line["first"], line["second"], **figures)
