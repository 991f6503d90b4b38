"""Every model's public games scored again, then ours with themselves and exact replies to ours, a line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl import __version__
from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from dond_marl.statistics import Estimate
from experiments.field.frontier.ours import in_paper_space, playable, played, played_unbound
from experiments.field.frontier.public import Instance, PublicGame, PublicGameError, games, instances
from experiments.field.frontier.scoring import Outcome, Summary, rescored, summary
from league.ledger.run_directory import source_commit
from league.tasks.values import machine
from partners.provenance import identity

EQUILIBRIUM = "equilibrium"
ALL, FIT, PAPER = "all", "that fit", "of the paper's space"  # which of the instances
MODEL, SELF, UNBOUND, REPLY = "model", "with itself", "nothing binding", "exact reply"  # whose games
DIGITS = 4

Seat = tuple[str, str]  # a name, and the occupant of the catalogue that it stands for


class Row(NamedTuple):
    """The games of one model or occupant on some of the instances."""

    who: str
    kind: str
    tables: str
    number: int  # of the instances
    figures: Summary
    aborted: int = 0
    disagree: int = 0  # games of which the file says another outcome than our count


def perform(
    tables: Path, transcripts: Path, experiment: str, seats: Sequence[Seat], replies: Sequence[Seat], *, seed: int
) -> Iterator[Row]:
    """All rows: the models' by the share of deals, then ours in the order asked for.

    Ours play each instance twice, in either order of speaking, one game each. Raises
    :class:`~experiments.field.frontier.public.PublicGameError` and what the occupants raise.
    """
    known = instances(tables, experiment)
    public = games(transcripts, experiment)
    foreign = {game.instance for game in public} - set(known)
    if foreign:
        raise PublicGameError(f"{transcripts}: games on {len(foreign)} tables that are not among the instances")
    fit = playable(known)
    if not fit:
        raise PublicGameError(
            f"{tables}: none of {len(known)} instances has three types with at most four items of each"
        )
    found = [_model(name, list(own), fit) for name, own in groupby(public, lambda game: game.model)]
    for pair in sorted(found, key=lambda pair: -pair[0].figures.deals.mean):
        yield from pair
    for name, spec in seats:
        yield _with_itself(name, spec, known, seed)
    for name, spec in seats:
        if EQUILIBRIUM not in spec:  # there is no table of one
            yield _with_itself(name, spec, known, seed, bound=False)
    for name, spec in replies:
        yield _reply(name, spec, known, seed)


def _model(name: str, own: list[PublicGame], fit: Sequence[Instance]) -> list[Row]:
    rows = []
    for label, some in ((ALL, own), (FIT, [game for game in own if game.instance in fit])):
        outcomes = [rescored(game) for game in some]
        wrong = sum(each.deal != game.said_success for each, game in zip(outcomes, some, strict=True))
        figures = summary([game.instance for game in some], outcomes)
        aborted = sum(game.aborted for game in some)
        rows.append(Row(name, MODEL, label, len({game.instance.number for game in some}), figures, aborted, wrong))
    return rows


def _with_itself(name: str, spec: str, known: Sequence[Instance], seed: int, bound: bool = True) -> Row:
    label, some = (PAPER, in_paper_space(known)) if EQUILIBRIUM in spec else (FIT, playable(known))
    play = played if bound else played_unbound
    both, outcomes = _both_orders(some), list[Outcome]()
    for replicate, order in enumerate(both):
        outcomes += play((seat_occupant(spec), seat_occupant(spec)), order, seed=seed, replicate=replicate)
    return Row(
        name if bound else f"{name}, {UNBOUND}",
        SELF if bound else UNBOUND,
        label,
        len(some),
        summary([*both[0], *both[1]], outcomes),
    )


def _reply(name: str, spec: str, known: Sequence[Instance], seed: int) -> Row:
    """The exact best response to an occupant, in both seats; its own points come first."""
    some = in_paper_space(known)
    both, own = _both_orders(some), seat_occupant(spec)
    reply = seat_occupant({"kind": "best_response", "to": spec})
    outcomes = played((reply, own), both[0], seed=seed, replicate=0)
    outcomes += [_turned(each) for each in played((own, reply), both[1], seed=seed, replicate=1)]
    tables = [*both[0], *map(_swapped, both[1])]
    return Row(f"the exact reply to {name}", REPLY, PAPER, len(some), summary(tables, outcomes))


def _both_orders(some: Sequence[Instance]) -> tuple[list[Instance], list[Instance]]:
    if not some:
        raise InputError("no instance lies in the space of scenarios that exact replies and equilibria are solved for")
    return list(some), [_swapped(each) for each in some]


def _swapped(table: Instance) -> Instance:
    return table._replace(values=(table.values[1], table.values[0]))


def _turned(each: Outcome) -> Outcome:
    return each._replace(points=(each.points[1], each.points[0]))


def lines(
    rows: Sequence[Row], experiment: str, seats: Sequence[Seat], seed: int, tell: Callable[[str], None] = lambda _: None
) -> str:
    """The rows as lines of JSON, with what made them; ``seats``: every occupant in them."""
    players = {name: identity(spec) for name, spec in seats}
    at = datetime.now(UTC).isoformat("T", "seconds")
    code = {"version": __version__, **source_commit(), **json.loads(machine())}
    text = []
    for row in rows:
        figures = row.figures
        text.append(
            {
                "experiment": experiment,
                "who": row.who,
                "kind": row.kind,
                "tables": row.tables,
                "number": row.number,
                "games": figures.deals.n,
                "deals": _plain(figures.deals),
                "welfare": _plain(figures.welfare),
                "pareto": _plain(figures.pareto),
                "points": [_plain(each) for each in figures.points],
                "aborted": row.aborted,
                "disagree": row.disagree,
                "players": players,
                "seed": seed,
                "code": code,
                "at": at,
            }
        )
        if row.disagree:
            tell(f"{row.who}: {row.disagree} of its files say another outcome than their proposals come to")
    return "".join(json.dumps(each) + "\n" for each in text)


def parsed(text: Sequence[str]) -> list[Row]:
    """The inverse of :func:`lines`, but for what they round. Raises :class:`InputError` for other lines."""
    try:
        return [_row(json.loads(line)) for line in text]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"no results of frontier models ({error}); make them again: dond experiment frontier"
        ) from None


def _row(line: dict[str, Any]) -> Row:
    first, second = map(_estimate, line["points"])
    deals, welfare, pareto = (_estimate(line[key]) for key in ("deals", "welfare", "pareto"))
    figures = Summary(deals, welfare, pareto, (first, second))
    return Row(line["who"], line["kind"], line["tables"], line["number"], figures, line["aborted"], line["disagree"])


def _plain(estimate: Estimate) -> dict[str, float | int | None]:
    """JSON knows no ``nan``: it is ``None``."""
    rounded = {key: round(getattr(estimate, key), DIGITS) for key in ("mean", "low", "high")}
    return {"n": estimate.n, **{key: value if value == value else None for key, value in rounded.items()}}


def _estimate(plain: dict[str, Any]) -> Estimate:
    mean, low, high = (float("nan") if plain[key] is None else plain[key] for key in ("mean", "low", "high"))
    return Estimate(mean, plain["n"], low, high)
