"""Report section with the most and the least efficient games of a league, replayed from the ledger.

The ledger stores how games ended, not their acts. A match is a function of its members, its seed and its scenarios, so
it is replayed; if any of its games ends differently (rounding on another machine), it is left out. Matches with members
that are expensive to query are left out too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from dond.table.frontier import plane_of, verdict
from dond.table.game import act_sentence, describe_act, steps
from dond_marl.game import SEATS
from dond_marl.records.record import GameRecord, records_of
from dond_marl.records.transcript import transcript_lines
from dond_marl.solvers.efficiency import Efficiency, ImpossibleScore, efficiency
from dond_marl.statistics import GROUPS, rate, sums_by_group
from league.figures.rows import Figure
from league.ledger.ledger import Ledger
from league.ledger.verify import legs_with_order, replay_leg
from league.play.values import SeatOrderResult
from league.settings.read import Config
from league.tables.blocks import Dialogue, Section, Table, TableRow, number_cell

EACH = 3  # games shown per kind
TRIED = 12  # pairs of members tried per kind, at most
BEST, WORST, BROKEN = "Most efficient", "Least efficient deal", "No deal"
Sums: TypeAlias = dict[str, tuple[np.ndarray, np.ndarray]]  # [1, GROUPS] totals and counts over groups of scenarios


class LeagueGames(NamedTuple):
    """The games of a league: their number, sums over all of them, and the extreme ones, replayed."""

    number: int
    sums: Sums
    dialogues: tuple[Dialogue, ...] = ()
    problems: tuple[str, ...] = ()  # why games of a kind cannot be shown, or why nothing is known


class CandidateGame(NamedTuple):
    """A game by its place in the ledger."""

    merit: tuple[float, ...]  # larger is shown first
    round: int
    order: int  # which seat order of the match
    row: int
    leg: SeatOrderResult


def find_games(config: Config, ledger: Ledger, blobs: Path) -> LeagueGames:
    """Read all games, and replay the extreme ones; among equals longer games first, then earlier ones."""
    try:
        kinds, sums, number = _extreme_games(ledger)
    except ImpossibleScore as bug:
        return LeagueGames(0, {}, problems=(f"A bug of the game or of the measure: {bug}.",))
    dialogues, problems = [], []
    for kind, candidates in kinds.items():
        replayed, problem = _dialogues(kind, candidates, config, ledger, blobs)
        dialogues += replayed
        problems += [problem] if problem and not replayed else []
    return LeagueGames(number, sums, tuple(dialogues), tuple(dict.fromkeys(problems)))


def games_section(games: LeagueGames, confidence: float) -> Section:
    """The section: efficiency over all games, then the extreme games."""
    if not games.number:
        return Section("games", "Games", games.problems or ("None were played yet.",))
    notes = (
        "Welfare efficiency: both seats' points over the most that any split of the scenario gives, Nash efficiency: "
        f"the product of both over the largest there is; no deal is 0. Intervals are {confidence:.0%}, over scenarios.",
        "The games below were replayed and match the ledger: of each kind the extreme ones, the longest first among "
        "equals, no pair of members twice.",
        *games.problems,
    )
    return Section("games", "Games", notes, (_all_games(games.number, games.sums, confidence), *games.dialogues))


def _extreme_games(ledger: Ledger) -> tuple[dict[str, list[CandidateGame]], Sums, int]:
    """Best game of each kind for each pair of members, best first; sums over all games; and the number of games."""
    members = {member.name: member for member in ledger.members()}
    best: dict[str, dict[frozenset[str], CandidateGame]] = {BEST: {}, WORST: {}, BROKEN: {}}
    sums = {name: (np.zeros((1, GROUPS)), np.zeros((1, GROUPS))) for name in ("deals", "welfare", "nash", "pareto")}
    number_of_games = 0
    for number in range(ledger.next_round):
        scenarios = ledger.scenarios(number)
        for order, leg in legs_with_order(ledger, number):
            reached = efficiency(scenarios, leg.facts["scores"], leg.facts["deal"])
            number_of_games += reached.size
            _add(sums, reached)
            pair = frozenset(leg.seats)
            if len(pair) == 2 and not any(members[name].maybe_costly(ledger.allow) for name in leg.seats):
                for kind, row, merit in _extremes(reached, leg):
                    game = CandidateGame((*merit, -number), number, order, row, leg)
                    best[kind][pair] = max(best[kind].get(pair, game), game, key=lambda candidate: candidate.merit)
        for kind, of_kind in best.items():  # bounds the memory
            best[kind] = dict(sorted(of_kind.items(), key=lambda item: item[1].merit, reverse=True)[:TRIED])
    return {kind: list(of_kind.values()) for kind, of_kind in best.items()}, sums, number_of_games


def _extremes(reached: Efficiency, leg: SeatOrderResult) -> Iterator[tuple[str, int, tuple[float, ...]]]:
    """The best game of each kind in a leg, without fallbacks: the kind, the row of the game, and its merit."""
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
    kind: str, candidates: list[CandidateGame], config: Config, ledger: Ledger, blobs: Path
) -> tuple[list[Dialogue], str | None]:
    """The first ``EACH`` candidates that can be replayed, and the reason why the last of the others cannot."""
    dialogues: list[Dialogue] = []
    problem = None
    for candidate in candidates:
        if len(dialogues) == EACH:
            break
        again = replay_leg(config, ledger, blobs, candidate.round, candidate.order, candidate.leg)
        if isinstance(again, str):
            problem = f"Some games are left out: they {again}."
            continue
        record = records_of(again, candidate.leg.seats, source=config.env.scenarios, seed=config.league.seed)[
            candidate.row
        ]
        dialogues.append(_dialogue(f"{kind} {len(dialogues) + 1}", record, candidate, ledger))
    return dialogues, problem


def _dialogue(heading: str, record: GameRecord, candidate: CandidateGame, ledger: Ledger) -> Dialogue:
    scenario = ledger.scenarios(candidate.round).rows(slice(candidate.row, candidate.row + 1))
    scores, deal = np.array([record.outcome.scores], dtype=np.int16), np.array([record.outcome.deal])
    reached = efficiency(scenario, scores, deal)
    measures = (
        *((f"points of ten of {SEATS[seat]}", number_cell(reached.points[0, seat], n=1)) for seat in (0, 1)),
        ("welfare efficiency", number_cell(reached.welfare[0], "share", 1)),
        ("Nash efficiency", number_cell(reached.nash[0], "share", 1)),
    )
    game = steps(record)
    acts = tuple(
        (step.number % 2, act_sentence(step), describe_act(step.action, step.state))
        for step in game
        if step.action is not None
    )
    played_in = ledger.config().league.round_name(candidate.round)
    return Dialogue(
        f"{heading}, of {played_in}",
        record,
        measures,
        acts,
        transcript_lines(game[-1].state)[-1],
        verdict(plane_of(record, 0, candidate.leg.seats)),
    )
