"""Report section with the most and the least efficient games of a league, replayed from the ledger.

The ledger stores how games ended, not their acts. A match is a function of its members, its seed and its scenarios, so
it is replayed; if any of its games ends differently (rounding on another machine), it is left out. Matches with members
that are expensive to query are left out too.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
LEGS_OF_A_PAIR = 2  # in a round
GAMES_AT_ONCE = 100_000  # bounds the memory
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
    members = ledger.members()
    costly = {member.name for member in members if member.maybe_costly(ledger.allow)}
    best: dict[str, dict[frozenset[str], CandidateGame]] = {BEST: {}, WORST: {}, BROKEN: {}}
    sums = {name: (np.zeros((1, GROUPS)), np.zeros((1, GROUPS))) for name in ("deals", "welfare", "nash", "pareto")}
    number_of_games = 0
    for number in range(ledger.next_round):
        scenarios, legs = ledger.scenarios(number), legs_with_order(ledger, number)
        while sweep := list(islice(legs, max(GAMES_AT_ONCE // scenarios.size, 1))):
            facts = np.stack([leg.facts for _, leg in sweep])  # [legs, K]
            repeated = scenarios.rows(np.tile(np.arange(scenarios.size), len(sweep)))
            reached = efficiency(repeated, facts["scores"].reshape(-1, 2), facts["deal"].ravel())
            number_of_games += reached.size
            _add(sums, reached)
            shown = np.array([len({*leg.seats}) == 2 and costly.isdisjoint(leg.seats) for _, leg in sweep])
            for kind, games in _extremes(reached, facts, shown).items():
                for place, row, merit in games:
                    order, leg = sweep[place]
                    game, pair = CandidateGame((*merit, -number), number, order, row, leg), frozenset(leg.seats)
                    best[kind][pair] = max(best[kind].get(pair, game), game, key=lambda candidate: candidate.merit)
        for kind, of_kind in best.items():  # bounds the memory
            best[kind] = dict(sorted(of_kind.items(), key=lambda item: item[1].merit, reverse=True)[:TRIED])
    return {kind: list(of_kind.values()) for kind, of_kind in best.items()}, sums, number_of_games


def _extremes(
    reached: Efficiency, facts: NDArray[np.void], shown: NDArray[np.bool_]
) -> dict[str, list[tuple[int, int, tuple[float, ...]]]]:
    """The best games of each kind without fallbacks, one of a leg: the leg, the row of the game in it, and its merit.

    ``facts[legs, K]``; ``shown[legs]``: among these legs alone. Of as many legs as may hold :data:`TRIED` pairs.
    """
    turns, lost = facts["turns"].ravel().astype(float), reached.best_joint
    free = (shown[:, None] & ~facts["fallbacks"].any(axis=2)).ravel()
    merits = {
        BEST: (reached.deal, np.stack([reached.welfare, reached.nash, turns])),
        WORST: (reached.deal & ~reached.pareto, np.stack([-reached.welfare, -reached.nash, turns])),
        BROKEN: (~reached.deal, np.stack([lost, turns, turns])),
    }
    best = {}
    for kind, (among, keys) in merits.items():
        games = np.flatnonzero(among & free & ~np.isnan(keys).any(axis=0))
        legs = games // facts.shape[1]
        order = np.lexsort((games, -legs, *keys[::-1, games]))[::-1]  # the most merit, the first leg, its last game
        _, first_of_leg = np.unique(legs[order], return_index=True)
        chosen = games[order[np.sort(first_of_leg)[: LEGS_OF_A_PAIR * TRIED]]]
        best[kind] = [(*divmod(game, facts.shape[1]), tuple(keys[:, game].tolist())) for game in chosen.tolist()]
    return best


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
