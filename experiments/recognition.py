"""Scores of a player's beliefs about a mixture of partners, and the regret of its acts, by own turn.

Every member of the mixture is equally likely and plays every scenario once in each seat. On each own turn of the player
the history fixes the exact posterior (:mod:`dond_marl.yardsticks.recognition`): no forecast identifies the partner more
often than its likeliest member, and none has a lower expected Brier score about the values. Both are means over the
same turns as the player's own scores; games that have ended do not count.

The regret of an act is the value of the best response to the mixture (:mod:`experiments.mixture_response`) - its value
after that act, given the history. The sum over a game's own turns is in expectation the difference between the best
response and the player's policy (Kakade, Langford 2002, *Approximately optimal approximate reinforcement learning*,
lemma 6.1), so it shows at which turn points are lost. Mixtures for regrets have no stochastic members and none with
memory.

examples:
  dond experiment beliefs expert --of train
  dond experiment beliefs runs/memory/0001/checkpoints/step_000001000000.json --of train --name memory --seed 1
  dond experiment beliefs linear --of heuristic --of boulware --of "linear(floor=0.6)"
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import SEATS, Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools, Decisions, Doubles, History, Partner, Rows, Turns
from dond_marl.statistics import Estimate
from dond_marl.yardsticks.adaptive import Adaptive, Pool
from dond_marl.yardsticks.automata import personas_of
from dond_marl.yardsticks.beliefs import partner_beliefs
from dond_marl.yardsticks.contexts import Index, contexts_in, distinct_views
from dond_marl.yardsticks.recognition import (
    Believes,
    Guess,
    Recognition,
    one_hot_values,
    recognizable_personas,
    recognize,
    value_marginals,
)
from experiments.kit import experiment_command, show_sections
from experiments.mixture_response import GAMBLES, enumerable_mixture
from league.bench.protocol import ALL, HEADLINE, NOISE_SEED, RULES, lewis_field
from league.bench.results import check_writable, read_rows, replace_row
from league.bench.run import Submission, noise_index, opponents_of, provenance, submission_of_spec
from league.cli.shell import FILE, SEED, output_console, print_line
from league.evaluation.matches import Witness
from league.tables.blocks import Figure, Section, Table, TableRow, Unit
from partners.mixture import Mixture

RESULTS = Path("runs/recognition.jsonl")
DIGITS = 5
SLICES = (ALL, HEADLINE)
PRIOR = "lewis"
NOT_BY_ROW = ("rules", "prior", "history")  # fields of Turns


class QueriedTurn(NamedTuple):
    """The queries of a player on one of its turns, in the games that had not ended, and its decisions."""

    scenario: Rows  # [B] the number of each row's scenario
    turns: Turns
    decisions: Decisions


def queried_turns(
    player: Partner, seat: int, partner: Partner, name: str, scenarios: Scenarios, rules: Rules
) -> list[QueriedTurn]:
    """All turns of ``player`` in ``seat`` in one game with ``partner`` over each scenario.

    The partner's ``name`` fixes the noise of the games, as in the benchmark.
    """
    witness = Witness(player)
    pair = (witness, partner) if seat == 0 else (partner, witness)
    games = rollout(pair, scenarios, rules, seed=NOISE_SEED, index=(noise_index(name),), prior=PRIOR)
    return [
        QueriedTurn(np.flatnonzero(games.turns > turns.turns_taken), turns, decisions)
        for turns, decisions in zip(witness.turns, witness.decisions, strict=True)
    ]


def concatenate_turns(parts: Sequence[Turns]) -> Turns:
    """The rows of several batches on the same turn under the same rules, concatenated."""
    acts = np.concatenate([part.history.act for part in parts])
    offers = np.concatenate([part.history.oA for part in parts])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Turns._fields
        if name not in NOT_BY_ROW
    }
    history = History(
        np.ascontiguousarray(acts.T), np.ascontiguousarray(offers.transpose(1, 2, 0)), parts[0].turns_taken
    )
    return parts[0]._replace(history=history, **columns)


BLOCK = 1 << 11  # beliefs that are computed in one call


class TurnRegret(NamedTuple):
    """The regret of one own turn of a player."""

    own: int  # own turns before it
    games: float  # share of the games that reach it
    points: float  # of ten, mean over all games
    exact: bool  # otherwise an upper bound: the member is revealed where beliefs are too many

    def document(self) -> dict[str, Any]:
        """Plain values by the keys of the results file."""
        return {"own": self.own, "asked": self.games, "points": self.points, "exact": self.exact}


def regret_by_turn(
    player: Partner, crowd: Sequence[str], partners: Sequence[Partner], seat: int, space: Scenarios, rules: Rules
) -> list[TurnRegret]:
    """The regret of ``player`` in ``seat`` against the best response to equally likely ``partners``, by own turn.

    Each scenario of ``space`` is played with each persona of each; exact for a player that is deterministic. Empty
    without partners. Raises :class:`~dond_marl.errors.NotComputable` for partners that are not enumerable.
    """
    if not partners:
        return []
    by_turn: dict[int, list[tuple[float, QueriedTurn]]] = {}
    for name, partner in zip(crowd, partners, strict=True):
        for persona in personas_of(partner) or ():
            for each in queried_turns(player, seat, persona.partner, name, space, rules):
                by_turn.setdefault(each.turns.turns_taken, []).append((persona.chance / len(partners), each))
    points, share, exact = dict.fromkeys(by_turn, 0.0), dict.fromkeys(by_turn, 0.0), True
    _, pool_of = distinct_views(space.counts, np.zeros_like(space.counts))
    for number in range(int(pool_of.max(initial=-1)) + 1):
        rows = np.flatnonzero(pool_of == number)
        table = Scenarios(*(array[rows] for array in space))
        contexts = contexts_in(table, seat)
        pool = Adaptive(Mixture(partners), contexts, seat, rules, PRIOR).pool(0)
        exact &= pool.exact
        context = np.zeros(space.size, dtype=np.int64)
        context[rows] = distinct_views(table.counts, table.utilities[:, seat])[1]
        for taken, parts in by_turn.items():
            chosen = [np.flatnonzero(pool_of[each.scenario] == number) for _, each in parts]
            some = [(chance, each, at) for (chance, each), at in zip(parts, chosen, strict=True) if len(at)]
            if some:
                weight = np.concatenate([np.full(len(at), chance) for chance, _, at in some]) / space.size
                loss = _act_regrets(pool, [(each, at) for _, each, at in some], context)
                points[taken] += float(weight @ loss)
                share[taken] += float(weight.sum())
    return [TurnRegret(taken // 2, share[taken], points[taken], exact) for taken in sorted(by_turn)]


def _act_regrets(pool: Pool, parts: Sequence[tuple[QueriedTurn, Index]], context: Index) -> Doubles:
    """The regret of each row's act, ``[R]`` points of ten."""
    turns = concatenate_turns([each.turns.rows(at) for each, at in parts])
    act = np.concatenate([each.decisions.act_type[at] for each, at in parts]).astype(np.int64)
    oA = np.concatenate([each.decisions.oA[at] for each, at in parts])
    context_of_row = np.concatenate([context[each.scenario[at]] for each, at in parts])
    n, left = pool.automaton.width, turns.rules.max_turns - turns.turns_taken
    number = np.where(act <= Act.INSIST, act * n + oA @ pool.automaton.strides, 2 * n + act - Act.AGREE)
    acts, offers = turns.history.act, turns.history.oA
    columns = np.column_stack([context_of_row, number, acts, offers.reshape(len(context_of_row), -1)])
    _, first, which = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    loss = np.empty(len(first))
    for begin in range(0, len(first), BLOCK):
        rows = first[begin : begin + BLOCK]
        belief = pool.beliefs_after(context_of_row[rows], acts[rows], offers[rows])
        agree, claims = pool.act_values(belief, left)
        best = np.maximum(np.maximum(agree, 0.0), claims.max(axis=1))
        agreed = np.maximum(agree, 0.0)
        closes = np.zeros(len(rows), dtype=bool)  # whether the seat's claim after its act is the offer
        if turns.turns_taken:
            mine = np.where((act[rows] <= Act.INSIST)[:, None], oA[rows], offers[rows, max(turns.turns_taken - 2, 0)])
            closes = (mine == turns.counts[rows] - offers[rows, -1]).all(axis=1)
            closes &= (act[rows] <= Act.INSIST) | (turns.turns_taken > 1)
        worth = claims[np.arange(len(rows)), number[rows] % pool.automaton.claims]
        final = (act[rows] == Act.END) | (left == 1)
        worth = np.where(final, agreed * closes, worth)
        worth = np.where(act[rows] == Act.AGREE, agreed, np.where(act[rows] == Act.DISAGREE, 0.0, worth))
        chance = np.bincount(belief.row, pool.probabilities(belief, left), belief.size)
        loss[begin : begin + BLOCK] = (best - worth) / chance
    return loss[which.reshape(-1)]


APART = 0.9  # probability of one member from which it counts as identified
BINS = 10  # of a calibration: forecasts of 0-10 %, ..., 90-100 %


class CalibrationBin(NamedTuple):
    """Forecasts of item values in one range of probability."""

    number: int
    forecast: float  # mean probability
    true: float  # share that came true


class BeliefScores(NamedTuple):
    """Scores of beliefs after ``own`` own turns, over the games that reach them; ``None`` where none are stated."""

    own: int
    games: int
    # Share of games in which the likeliest member was the partner; a member that the player has no name for counts
    # as wrong. A league's network names members as in its league; without common names the score is None.
    right: float | None
    right_exact: float  # the same of exact beliefs, expected: the mean probability of the likeliest
    apart: int  # games in which the exact posterior of a member is at least APART
    right_apart: float | None
    right_apart_exact: float | None
    brier: float | None  # mean over items and games, 0 best, 2 worst (Brier 1950)
    brier_exact: float  # expected
    brier_prior: float  # of the belief before the game
    calibration: tuple[CalibrationBin, ...]  # of the stated beliefs about values


def belief_scores(
    player: Partner,
    crowd: Sequence[str],
    partners: Sequence[Partner],
    seat: int,
    scenarios: Scenarios,
    rules: Rules,
    slices: Mapping[str, Bools],
) -> dict[str, list[BeliefScores]]:
    """Scores of the beliefs of ``player`` in ``seat`` about ``partners``, named ``crowd``, by own turn.

    ``slices``: which of ``scenarios`` count, ``[N]``; the figures are given for each slice.
    """
    by_turn: dict[int, list[tuple[int, QueriedTurn]]] = {}
    for number, (name, partner) in enumerate(zip(crowd, partners, strict=True)):
        for each in queried_turns(player, seat, partner, name, scenarios, rules):
            by_turn.setdefault(each.turns.turns_taken // 2, []).append((number, each))
    found: dict[str, list[BeliefScores]] = {name: [] for name in slices}
    for own, parts in sorted(by_turn.items()):
        turns = concatenate_turns([each.turns for _, each in parts])
        true = np.concatenate([np.full(each.turns.size, number) for number, each in parts])
        scenario = np.concatenate([each.scenario for _, each in parts])
        guess = player.beliefs(turns) if isinstance(player, Believes) else None
        forecasts = _forecasts(crowd, turns, recognize(partners, turns), guess, true)
        truth = one_hot_values(scenarios.utilities[scenario, 1 - seat])
        for name, chosen in slices.items():
            if (rows := np.flatnonzero(chosen[scenario])).size:
                found[name].append(_scores(own, forecasts.rows(rows), truth[rows]))
    return found


class _Forecasts(NamedTuple):
    """Exact, prior and stated beliefs in B games; ``None`` where none are stated."""

    surest: Doubles  # [B] the probability of the likeliest member, exact
    exact: Doubles  # [B, 3, 11]
    prior: Doubles  # [B, 3, 11]
    right: Bools | None  # [B]
    stated: Doubles | None  # [B, 3, 11]

    def rows(self, rows: Rows) -> _Forecasts:
        return _Forecasts(*(None if each is None else each[rows] for each in self))  # type: ignore[arg-type]


def _forecasts(crowd: Sequence[str], turns: Turns, exact: Recognition, guess: Guess | None, true: Rows) -> _Forecasts:
    right = None
    if guess is not None and set(crowd) & set(guess.members):
        identity = np.full((turns.size, len(crowd)), -1.0)  # of the mixture's members only
        for number, name in enumerate(crowd):
            if name in guess.members:
                identity[:, number] = guess.identity[:, guess.members.index(name)]
        right = (identity.argmax(axis=1) == true) & (identity.max(axis=1) >= 0)
    prior = value_marginals(partner_beliefs(turns))
    return _Forecasts(exact.identity.max(axis=1), exact.values, prior, right, None if guess is None else guess.values)


def _scores(own: int, forecasts: _Forecasts, truth: Doubles) -> BeliefScores:
    apart = forecasts.surest >= APART
    return BeliefScores(
        own,
        len(truth),
        None if forecasts.right is None else float(forecasts.right.mean()),
        float(forecasts.surest.mean()),
        int(apart.sum()),
        None if forecasts.right is None or not apart.any() else float(forecasts.right[apart].mean()),
        float(forecasts.surest[apart].mean()) if apart.any() else None,
        None if forecasts.stated is None else _brier(forecasts.stated, truth),
        float((1 - (forecasts.exact**2).sum(axis=2)).mean()),
        _brier(forecasts.prior, truth),
        () if forecasts.stated is None else calibration(forecasts.stated, truth),
    )


def _brier(stated: Doubles, truth: Doubles) -> float:
    return float(((stated - truth) ** 2).sum(axis=2).mean())


def calibration(stated: Doubles, truth: Doubles) -> tuple[CalibrationBin, ...]:
    """Mean forecast probabilities and the shares that came true; ``[B, 3, 11]`` each. Empty bins too."""
    which = np.minimum((stated * BINS).astype(np.int64), BINS - 1).reshape(-1)
    number = np.bincount(which, minlength=BINS)
    sums = (np.bincount(which, of.reshape(-1), BINS) / np.maximum(number, 1) for of in (stated, truth))
    return tuple(CalibrationBin(int(n), float(p), float(t)) for n, p, t in zip(number, *sums, strict=True))


def recognition_row(
    submission: Submission, crowd: str, specs: Sequence[str], report: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """The beliefs of ``submission`` about the mixture of ``specs``, named ``crowd``, in both seats, against exact ones.

    Raises :class:`~dond_marl.errors.InputError` for a submission that may not be measured against them, and where none
    of them has known probabilities.
    """
    began = time.process_time()
    identity = provenance(submission, specs).identity
    player, occupants = submission.player.partner(), {spec: seat_occupant(spec) for spec in specs}
    partners = {spec: partner for spec, partner in occupants.items() if recognizable_personas(partner) is not None}
    if not partners:
        raise InputError(f"no partner of {crowd} has known probabilities; name others")
    enumerable = _enumerable(crowd, list(partners))
    field = lewis_field()
    assert field.source.table is not None
    table, seats = field.source.table, []
    for seat, name in enumerate(SEATS):
        report(f"{name}: beliefs about the partner")
        slices = {each: field.slices[each][seat] for each in SLICES}
        turns = belief_scores(player, list(partners), list(partners.values()), seat, table, RULES, slices)
        report(f"{name}: regret of each turn")
        lost = regret_by_turn(player, enumerable, [occupants[spec] for spec in enumerable], seat, table, RULES)
        seats.append(
            {
                "slices": {
                    each: [_json_value(scores._asdict()) for scores in by_turn] for each, by_turn in turns.items()
                },
                "lost": [_json_value(regret.document()) for regret in lost],
            }
        )
    return {
        "who": submission.name,
        "seed": submission.seed,
        "identity": identity,
        "crowd": crowd,
        "members": list(partners),
        "left_out": {spec: GAMBLES for spec in specs if spec not in partners},
        "followed": list(enumerable),
        "seats": seats,
        "processor_seconds": round(time.process_time() - began, 1),
    }


def _enumerable(crowd: str, specs: Sequence[str]) -> tuple[str, ...]:
    """The enumerable members, for which regrets are exact; none where all are stochastic or have memory."""
    try:
        return enumerable_mixture(crowd, specs).members
    except InputError:
        return ()


def read_recognitions(path: Path) -> list[Mapping[str, Any]]:
    """The lines of a results file, none where there is no file. Raises :class:`InputError` for a damaged one."""
    return read_rows(path, recognition_section, "lines of `dond experiment beliefs`")


def store_recognition_row(path: Path, row: Mapping[str, Any]) -> None:
    """Write ``row`` to the file, replacing an older one of the same member, seed and mixture."""
    replace_row(path, read_recognitions(path), row, _same)


def _same(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["crowd"], row["who"], row["seed"], *row["members"]


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_value(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    return round(value, DIGITS) if isinstance(value, float) else value


def recognition_section(row: Mapping[str, Any]) -> Section:
    """A line as tables: by seat and own turn, over all scenarios."""
    tables = []
    for seat, side in zip(SEATS, row["seats"], strict=True):
        by_turn = side["slices"][ALL]
        heads = (
            "games", "identity, right", "identity, exact", f"{APART:.0%} identified", "identity, right there",
            "Brier, stated", "Brier, exact", "Brier, prior",
        )  # fmt: skip
        rows = [
            TableRow(
                f"{each['own']} own turns",
                (
                    _figure(each["games"], "count"),
                    _figure(each["right"], "share"),
                    _figure(each["right_exact"], "share"),
                    _figure(each["apart"] / each["games"], "share"),
                    _figure(each["right_apart"], "share"),
                    _figure(each["brier"], "ratio"),
                    _figure(each["brier_exact"], "ratio"),
                    _figure(each["brier_prior"], "ratio"),
                ),
            )
            for each in by_turn
        ]
        tables.append(Table(f"{seat}: identity and values of the partner", heads, tuple(rows), label="after"))
        if not row["followed"]:
            continue
        lost = [
            TableRow(f"{each['own']} own turns", (_figure(each["points"], "points"), _figure(each["asked"], "share")))
            for each in side["lost"]
        ]
        total = _figure(sum(each["points"] for each in side["lost"]), "points")
        caption = f"{seat}: regret of its next act against the best response to {len(row['followed'])} members"
        tables.append(
            Table(caption, ("regret, points", "games"), (*lost, TableRow("in all", (total, None))), label="after")
        )
    notes: tuple[str, ...] = (
        f"{len(row['members'])} members, equally likely, over all scenarios of lewis. Brier: of each item's value.",
    )
    if row["left_out"]:
        notes += (f"Left out: {'; '.join(f'{name} ({why})' for name, why in row['left_out'].items())}.",)
    return Section("recognition", f"Beliefs of {row['who']} about {row['crowd']}", notes, tuple(tables))


def _figure(value: float | None, unit: Unit) -> Figure:
    return Figure(Estimate(math.nan if value is None else value, 0, math.nan, math.nan), unit)


@experiment_command(__doc__, stopped="nothing is written", results=False)
@click.argument("policy", metavar="WHO")
@click.option("--of", "words", multiple=True, metavar="OCCUPANT", help="or a roster: train, dev, test; may be repeated")
@click.option("--name", metavar="TEXT", help="in the results file (WHO)")
@click.option("--seed", type=SEED, metavar="N", help="of its training")
@click.option("--results", type=FILE, default=RESULTS, metavar="FILE", help=f"results file ({RESULTS})")
def command(policy: str, words: tuple[str, ...], name: str | None, seed: int | None, results: Path) -> None:
    """Measure the beliefs of WHO about its partner (identity and values), and the regret of each own turn."""
    opponents = opponents_of(words, "--of")
    check_writable(results)
    read_recognitions(results)
    submission = submission_of_spec(policy, name)._replace(seed=seed)
    with output_console().status("") as status:  # shown on a terminal only
        row = recognition_row(submission, opponents.name, opponents.partners, report=status.update)
    store_recognition_row(results, row)
    show_sections(recognition_section(row))
    print_line(f"written: {results}")
