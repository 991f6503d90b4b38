"""The most and the least efficient games of a league, found among the ledger's facts and played again to be shown.

The ledger keeps how games ended, not what was said. A match is a function of its members, its seed and its scenarios,
so it is played again; where that does not come to the same facts in all of its games (another machine's last digits),
it is not shown. Who costs something to ask, or cannot be asked again, is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from dond_marl.game import SEATS
from dond_marl.records.record import GameRecord, records
from dond_marl.records.transcript import transcript_lines
from dond_marl.statistics import GROUPS, rate, sums_by_group
from dond_marl.yardsticks.efficiency import Efficiency, ImpossibleScore, efficiency
from league.display.game import act_in_words, said, steps
from league.display.svg.frontier import plane_of, verdict
from league.ledger.ledger import Ledger
from league.ledger.replay import orders, played_again
from league.settings.read import Config
from league.tables.blocks import Dialogue, Figure, Section, Table, TableRow, number_cell
from league.tasks.values import Leg

EACH = 3  # games of each kind that are told
TRIED = 12  # pairs of members of each kind, at most
BEST, WORST, BROKEN = "Most efficient", "Least efficient deal", "No deal"
Sums: TypeAlias = dict[str, tuple[np.ndarray, np.ndarray]]  # [1, GROUPS] totals and counts over groups of scenarios


class Candidate(NamedTuple):
    """A game by its place in the ledger."""

    merit: tuple[float, ...]  # larger is shown first
    round: int
    order: int  # which seat order of the match
    row: int
    leg: Leg


def games(config: Config, ledger: Ledger, blobs: Path) -> Section:
    """The section. Of games with equal figures the longer rank first, then the earlier."""
    try:
        kinds, sums, number = _looked_through(ledger)
    except ImpossibleScore as bug:
        return Section("games", "Games", (f"A bug of the game or of the measure: {bug}.",))
    if not number:
        return Section("games", "Games", ("None were played yet.",))
    dialogues, problems = [], []
    for kind, candidates in kinds.items():
        shown, problem = _dialogues(kind, candidates, config, ledger, blobs)
        dialogues += shown
        problems += [problem] if problem and not shown else []
    notes = (
        "Welfare efficiency: both seats' points over the most that any split of the scenario gives, Nash efficiency: "
        f"the product of both over the largest there is; no deal is 0. Intervals are {config.league.confidence:.0%}, "
        "over scenarios.",
        "The games below were played again, exactly as the ledger says they went: of each kind the extreme ones, the "
        "longest talks first among equals, no pair of members twice.",
        *dict.fromkeys(problems),
    )
    return Section("games", "Games", notes, (_all_games(number, sums, config.league.confidence), *dialogues))


def _looked_through(ledger: Ledger) -> tuple[dict[str, list[Candidate]], Sums, int]:
    """Of each kind the best game of each pair of members, best first; what all games come to; and how many they are."""
    members = {member.name: member for member in ledger.members()}
    kept: dict[str, dict[frozenset[str], Candidate]] = {BEST: {}, WORST: {}, BROKEN: {}}
    sums = {name: (np.zeros((1, GROUPS)), np.zeros((1, GROUPS))) for name in ("deals", "welfare", "nash", "pareto")}
    number_of_games = 0
    for number in range(ledger.next_round):
        scenarios = ledger.scenarios(number)
        for order, leg in orders(ledger, number):
            reached = efficiency(scenarios, leg.facts["scores"], leg.facts["deal"])
            number_of_games += reached.size
            _add(sums, reached)
            pair = frozenset(leg.seats)
            if len(pair) == 2 and not any(members[name].costly for name in leg.seats):
                for kind, row, merit in _extremes(reached, leg):
                    new = Candidate((*merit, -number), number, order, row, leg)
                    kept[kind][pair] = max(kept[kind].get(pair, new), new, key=lambda candidate: candidate.merit)
        for kind, of_kind in kept.items():  # what cannot be shown is let go of
            kept[kind] = dict(sorted(of_kind.items(), key=lambda item: item[1].merit, reverse=True)[:TRIED])
    return {kind: list(of_kind.values()) for kind, of_kind in kept.items()}, sums, number_of_games


def _extremes(reached: Efficiency, leg: Leg) -> Iterator[tuple[str, int, tuple[float, ...]]]:
    """One game of each kind in a leg, none in which a fallback played: the kind, the row of the game, and its merit."""
    turns, lost = leg.facts["turns"].astype(float), reached.best_joint
    free = ~leg.facts["fallbacks"].any(axis=1)
    merits = {
        BEST: (reached.deal, np.stack([reached.welfare, reached.nash, turns])),
        WORST: (reached.deal & ~reached.pareto, np.stack([-reached.welfare, -reached.nash, turns])),
        BROKEN: (~reached.deal, np.stack([lost, turns, turns])),
    }
    for kind, (among, keys) in merits.items():
        rows = np.flatnonzero(among & free & ~np.isnan(keys).any(axis=0))
        if len(rows):
            row = int(rows[np.lexsort(keys[::-1, rows])[-1]])
            yield kind, row, tuple(keys[:, row].tolist())


def _add(sums: Sums, reached: Efficiency) -> None:
    everywhere = np.ones(reached.size, dtype=bool)
    for name, values, among in (
        ("deals", reached.deal, everywhere),
        ("welfare", reached.welfare, ~np.isnan(reached.welfare)),
        ("nash", reached.nash, ~np.isnan(reached.nash)),
        ("pareto", reached.pareto, reached.deal),
    ):
        for total, more in zip(sums[name], sums_by_group(values, reached.groups, among), strict=True):
            total += more


def _all_games(number: int, sums: Sums, confidence: float) -> Table:
    labels = {
        "deals": "share of games with a deal",
        "welfare": "welfare efficiency",
        "nash": "Nash efficiency",
        "pareto": "share of deals that are Pareto-optimal",
    }
    rows = tuple(TableRow(label, (Figure(rate(*sums[name], confidence), "share"),)) for name, label in labels.items())
    return Table(f"All {number:,} games of the league", ("value",), rows, label="figure")


def _dialogues(
    kind: str, candidates: list[Candidate], config: Config, ledger: Ledger, blobs: Path
) -> tuple[list[Dialogue], str | None]:
    """The first ``EACH`` candidates that can be played again, and why the last of the others cannot."""
    dialogues: list[Dialogue] = []
    problem = None
    for candidate in candidates:
        if len(dialogues) == EACH:
            break
        again = played_again(config, ledger, blobs, candidate.round, candidate.order, candidate.leg)
        if isinstance(again, str):
            problem = f"Some games are not told: they {again}."
            continue
        record = records(again, candidate.leg.seats, source=config.env.scenarios, seed=config.league.seed)[
            candidate.row
        ]
        dialogues.append(_dialogue(f"{kind} {len(dialogues) + 1}", record, candidate, ledger))
    return dialogues, problem


def _dialogue(heading: str, record: GameRecord, candidate: Candidate, ledger: Ledger) -> Dialogue:
    own = ledger.scenarios(candidate.round).rows(slice(candidate.row, candidate.row + 1))
    scores, deal = np.array([record.outcome.scores], dtype=np.int16), np.array([record.outcome.deal])
    reached = efficiency(own, scores, deal)
    measures = (
        *((f"points of ten of {SEATS[seat]}", number_cell(reached.points[0, seat], n=1)) for seat in (0, 1)),
        ("welfare efficiency", number_cell(reached.welfare[0], "share", 1)),
        ("Nash efficiency", number_cell(reached.nash[0], "share", 1)),
    )
    game = steps(record)
    acts = tuple(
        (step.number % 2, said(step), act_in_words(step.action, step.state)) for step in game if step.action is not None
    )
    played_in = ledger.config().schedule.round_name(candidate.round)
    return Dialogue(
        f"{heading}, of {played_in}",
        record,
        measures,
        acts,
        transcript_lines(game[-1].state)[-1],
        verdict(plane_of(record, 0, candidate.leg.seats)),
    )
