"""What talk is worth: one who tells its values, one who lies about them, and who believes them, on common scenarios.

Each pair plays every scenario of the split test in both seat orders, with messages and without; acts bind, or they are
talk before secret claims. What talk is worth to a seat is the difference, game by game. All of these partners are
deterministic, so that the scenarios alone are chance.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import MESSAGE_LENGTH, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Doubles
from dond_marl.yardsticks.metrics import Estimate, mean_over_scenarios, points_of_ten, scenario_groups

SPLIT, SEED, CONFIDENCE = "test", 0, 0.95
PROTOCOLS = {"acts that bind": Rules(), "talk, then secret claims": Rules(secret_claims=True)}
PAIRS = (
    ("announcer", "listener"),
    ("liar", "listener"),
    ("announcer", "listener(trust=0.5)"),
    ("liar", "listener(trust=0.5)"),
    ("announcer(of=listener)", "announcer(of=listener)"),
    ("liar(of=listener)", "announcer(of=listener)"),
    ("liar(of=listener)", "liar(of=listener)"),
)


class Row(NamedTuple):
    """One pair under one protocol; points of ten and shares of games, with intervals over scenarios."""

    protocol: str
    first: str  # a partner that speaks
    second: str
    deals: Estimate  # share of games, 0..1
    points: tuple[Estimate, Estimate]  # of the first and the second, over both seats
    silent_deals: Estimate  # the same without messages
    gains: tuple[Estimate, Estimate]  # points with messages less those without, game by game


def measured(
    say: Callable[[str], None] = lambda _: None, pairs: Iterable[tuple[str, str]] = PAIRS, every: int = 1
) -> Iterator[Row]:
    """Every pair under every protocol; ``every``: of the scenarios, each that many-th, for tests."""
    source = open_source("lewis", split=SPLIT)
    assert source.table is not None
    scenarios = source.table.rows(slice(0, None, every))
    groups = np.tile(scenario_groups(scenarios), 2)
    for protocol, rules in PROTOCOLS.items():
        talk = Rules(rules.max_turns, rules.disagree, MESSAGE_LENGTH, rules.secret_claims)
        for first, second in pairs:
            say(f"{protocol}: {first} with {second}")
            spoken, deals = _played(first, second, talk, scenarios, source.prior)
            silent, silent_deals = _played(first, second, rules, scenarios, source.prior)

            def mean(values: Doubles) -> Estimate:
                return mean_over_scenarios(values, groups, CONFIDENCE)

            yield Row(
                protocol,
                first,
                second,
                mean(deals),
                (mean(spoken[0]), mean(spoken[1])),
                mean(silent_deals),
                (mean(spoken[0] - silent[0]), mean(spoken[1] - silent[1])),
            )


def _played(
    first: str, second: str, rules: Rules, scenarios: Scenarios, prior: str
) -> tuple[tuple[Doubles, Doubles], Doubles]:
    """Points of ten of both, ``[2N]`` each, the first opening in the first N games; and which closed a deal."""
    one, other = seat_occupant(first), seat_occupant(second)
    opens = rollout((one, other), scenarios, rules, seed=SEED, prior=prior)
    answers = rollout((other, one), scenarios, rules, seed=SEED, prior=prior)
    ours, theirs = (points_of_ten(games.scores, scenarios.wholes) for games in (opens, answers))
    points = np.concatenate([ours[:, 0], theirs[:, 1]]), np.concatenate([ours[:, 1], theirs[:, 0]])
    return points, np.concatenate([opens.deal, answers.deal]).astype(np.float64)


def lines(rows: Iterable[Row]) -> str:
    """The rows as JSON lines."""
    return "".join(json.dumps(_plain(row._asdict())) + "\n" for row in rows)


def parsed(text: Iterable[str]) -> list[Row]:
    """The rows of a results file. Raises :class:`InputError`."""
    try:
        return [_row(json.loads(line)) for line in text]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"no results of dond experiment talk: {error}") from None


def markdown(rows: Iterable[Row]) -> str:
    """The rows as a table."""
    heads = ("protocol", "speaks", "with", "deals", "deals without talk", "points", "their points",
             "worth of talk", "to them")  # fmt: skip
    told = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    games = 0
    for row in rows:
        games = row.deals.n
        points = [f"{each.mean:.2f} ± {each.margin:.2f}" for each in row.points]
        gains = [f"{each.mean:+.2f} ± {each.margin:.2f}" for each in row.gains]
        deals = [f"{each.mean:.1%}" for each in (row.deals, row.silent_deals)]
        cells = [row.protocol, f"`{row.first}`", f"`{row.second}`", *deals, *points, *gains]
        told.append(f"| {' | '.join(cells)} |")
    note = (
        f"Points of ten over {games:,} games each, every scenario of the split {SPLIT} in both seat orders, "
        f"{CONFIDENCE:.0%} intervals over scenarios that are not renamings or swaps of each other. Worth of talk: the "
        "same games with messages less without, paired."
    )
    return "\n".join([*told, "", note])


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return round(value, 6) if isinstance(value, float) else value


def _row(value: dict[str, Any]) -> Row:
    one = {name: Estimate(**value[name]) for name in ("deals", "silent_deals")}
    two = {name: tuple(Estimate(**part) for part in value[name]) for name in ("points", "gains")}
    return Row(**{**value, **one, **two})
