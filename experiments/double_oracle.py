"""Double oracle in short games: exact best responses join both seats until no seat gains, pool by pool.

The members of each seat form a restricted game. Its coarse correlated equilibrium (CCE) is solved by linear programs;
then each seat's exact best response to the opponent's mixture joins if it gains (McMahan, Gordon, Blum 2003, *Planning
in the Presence of Cost Functions Controlled by an Adversary*; with CCEs of general-sum games: Marris et al. 2021,
*Multi-Agent Training beyond Zero-Sum with Correlated Equilibrium Meta-Solvers*). The oracle is exact among all policies
with perfect recall, so that gaps are certain: no policy gains more by committing before the draw. With gaps of 0 the
CCE is one of the full game. Pools are public, so each is a game of its own; pools that differ only in the order of
items are the same game.

examples:
  dond experiment double-oracle --turns 3
  dond experiment double-oracle --turns 4 --results docs/results/double_oracle.jsonl
  dond experiment double-oracle --turns 2 --solver max_welfare --start heuristic --start tough
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError
from dond_marl.game import SEATS, Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.space import Scenarios, lewis_space
from dond_marl.seats import Decisions, Doubles, Int8s, Partner, Traits, Turns, decide
from dond_marl.statistics import TEN
from dond_marl.yardsticks.beliefs import numbers_of
from dond_marl.yardsticks.contexts import Contexts, Index, Views, contexts_in, splits_of
from dond_marl.yardsticks.replies import Replies
from experiments.kit import experiment_command, show_sections, table_section
from league.bench.results import check_writable, read_rows, replace_row
from league.cli.shell import FILE, integer, print_line
from league.standings.meta_game import JointMixture, MetaGame, max_welfare_cce, nash_bargaining_cce, strictest_cce
from league.tables.blocks import Section
from partners.best_response import BestResponse
from partners.mixture import Mixture
from partners.rosters import TRAIN, roster

PRIOR = "lewis"
PLAYED = 1e-9  # smaller probabilities are rounding errors of the linear program
CLOSED = 1e-6  # points of ten; smaller gains count as none

Solver = Callable[[MetaGame], JointMixture]


class Iteration(NamedTuple):
    """One iteration in one pool: the solution of the restricted game, and the best responses to it."""

    members: tuple[int, int]  # in each seat
    values: tuple[float, float]  # of the CCE, points of ten
    gaps: tuple[float, float]  # gain of each seat's best response over the CCE
    apart: tuple[float, float]  # the same if both seats draw from their mixtures independently
    played: tuple[int, int]  # members with positive probability, by seat
    joining: tuple[str, ...]
    mixtures: tuple[dict[str, float], dict[str, float]]  # probability by member, where positive


def pool_kinds(space: Scenarios) -> list[tuple[Scenarios, float]]:
    """Scenarios of one pool per kind (pools up to the order of items), with the share of all scenarios of that kind."""
    kinds = np.sort(space.counts, axis=1)
    found = []
    for kind in np.unique(kinds, axis=0):
        rows = np.flatnonzero((space.counts == kind).all(axis=1))
        assert len(rows), "the space has every order of a pool"
        found.append((Scenarios(*(array[rows] for array in space)), float((kinds == kind).all(axis=1).mean())))
    return found


def double_oracle(
    space: Scenarios, members: Sequence[str], rules: Rules, solver: Solver, *, most: int
) -> Iterator[Iteration]:
    """Yield each iteration on the scenarios of one pool, at most ``most``; also the last one's gaps are certified.

    ``members``: specs of deterministic partners without memory.
    """
    contexts = contexts_in(space, 0), contexts_in(space, 1)
    games = PayoffTables(space, contexts, rules)

    def written(name: str, partner: Partner, seat: int) -> TabularPolicy:
        return TabularPolicy(name, partner, seat, rules, contexts[seat].own, PRIOR)

    sides = [[written(name, seat_occupant(name), seat) for name in members] for seat in (0, 1)]
    table = games.payoffs(*sides)
    for number in range(1, most + 1):
        joint = solver(MetaGame(table[..., 0], table[..., 1]))
        replies = [
            BestResponse(_opponent_mixture(sides[1 - seat], joint.mixtures[1 - seat]), contexts[seat])
            for seat in (0, 1)
        ]
        worth = [reply.value(seat, rules, PRIOR) for seat, reply in enumerate(replies)]
        gaps = worth[0] - joint.values[0], worth[1] - joint.values[1]
        alone = [float(joint.mixtures[0] @ table[..., seat] @ joint.mixtures[1]) for seat in (0, 1)]
        gaining = [seat for seat in (0, 1) if gaps[seat] > CLOSED]
        new = [written(f"reply {number} of seat_{seat}", replies[seat], seat) for seat in gaining]
        chances = _mixture(sides[0], joint.mixtures[0]), _mixture(sides[1], joint.mixtures[1])
        yield Iteration(
            (len(sides[0]), len(sides[1])),
            joint.values,
            gaps,
            (worth[0] - alone[0], worth[1] - alone[1]),
            (len(chances[0]), len(chances[1])),
            tuple(map(repr, new)),
            chances,
        )
        if not new:
            return
        for seat, member in zip(gaining, new, strict=True):
            more = games.payoffs([member], sides[1]) if seat == 0 else games.payoffs(sides[0], [member])
            table = np.concatenate([table, more], axis=seat)
            sides[seat].append(member)


def _opponent_mixture(side: Sequence[TabularPolicy], mixture: Doubles) -> Mixture:
    played = np.flatnonzero(mixture > PLAYED).tolist()
    return Mixture([side[number] for number in played], mixture[played].tolist())


def _mixture(side: Sequence[TabularPolicy], mixture: Doubles) -> dict[str, float]:
    return {repr(side[number]): float(mixture[number]) for number in np.flatnonzero(mixture > PLAYED).tolist()}


def all_pool_kinds() -> list[tuple[Scenarios, float]]:
    """All kinds of pools of the scenario space of Lewis et al. 2017."""
    return pool_kinds(lewis_space())


class PayoffTables:
    """Mean payoffs of tabular policies on the S scenarios of one pool, under ``disagree="ends"``; N splits.

    All pairs are played on all scenarios in lock-step.
    """

    def __init__(self, space: Scenarios, contexts: tuple[Contexts, Contexts], rules: Rules) -> None:
        self.rules, splits = rules, splits_of(space.counts[:1])
        self.width, self._rest = int(splits.number[0]), splits.rest[0]
        self._view = [_view_indices(contexts[seat].own.utilities, space.utilities[:, seat]) for seat in (0, 1)]
        worth = np.einsum("ni,spi->psn", splits.oA[0], space.utilities, dtype=np.int64)
        self._worth: Doubles = worth * (TEN / np.maximum(space.pool_values, 1).T[:, :, None])  # [2, S, N]

    def payoffs(self, first: Sequence[TabularPolicy], second: Sequence[TabularPolicy]) -> Doubles:
        """Mean points of ten of both seats, ``[A, B, 2]``: A members in seat_0, B in seat_1."""
        n, every = self.width, np.arange(len(self._view[0]))
        shape = len(first), len(second), len(every)
        sides = [np.arange(shape[0])[:, None, None], np.arange(shape[1])[None, :, None]]
        code, before = np.full(shape, 2 * n), np.full(shape, n)  # last act, and the split that the mover claims
        open_, deal = np.ones(shape, dtype=bool), np.full(shape, -1)  # split that seat_0 gets
        for turn in range(self.rules.max_turns):
            seat, left = turn % 2, self.rules.max_turns - turn
            table = np.stack([member.codes[left] for member in (first, second)[seat]])
            answer = table[sides[seat], self._view[seat], code].astype(np.int64)
            theirs = code % n if turn else np.full(shape, n)
            agreed = answer == 2 * n
            mine = np.where(answer < 2 * n, answer % n, before)
            stops = (answer == 2 * n + 2) | ((answer < 2 * n) & (left == 1))
            matched = (theirs < n) & (mine == self._rest[np.minimum(theirs, n - 1)])
            done = open_ & (agreed | (stops & matched))
            share = theirs if seat else self._rest[np.minimum(theirs, n - 1)]
            deal = np.where(done, share, deal)
            open_ &= answer < 2 * n
            code, before = np.where(open_, answer, code), theirs
        struck, safe = deal >= 0, np.maximum(deal, 0)
        points = [self._worth[0][every, safe] * struck, self._worth[1][every, self._rest[safe]] * struck]
        return np.stack([each.mean(axis=2) for each in points], axis=2)


def _view_indices(views: Int8s, utilities: Int8s) -> Index:
    """The index of each row among the views."""
    places: Index = (views[None] == utilities[:, None]).all(axis=2).argmax(axis=1)
    return places


MOST_TURNS = 4


class TabularPolicy:
    """A deterministic policy of one seat as a table: V ``views``, ascending, with N splits.

    In games of at most four turns, tables indexed by the last act of the opponent hold every deterministic policy with
    perfect recall that gives away no points on the last turn, so the policy need not be memoryless: its own first act
    follows from its values, and on the last turn nothing is worth more than AGREE. Best responses are such policies.
    """

    traits = Traits(deterministic=True, memoryless=True)

    def __init__(self, name: str, partner: Partner, seat: int, rules: Rules, views: Views, prior: str) -> None:
        assert rules.max_turns <= MOST_TURNS
        replies = Replies(partner, rules, views, prior)
        self.name, self._numbers, self._splits = name, numbers_of(views.counts, views.utilities), replies.splits
        self.codes: dict[int, NDArray[np.int16]] = {  # [V, 2N + 1] by turns left, as in dond_marl.yardsticks.replies
            left: replies.codes(left) for left in range(rules.max_turns - seat, 0, -2)
        }

    def __repr__(self) -> str:
        return self.name

    def act(self, turns: Turns) -> Decisions:
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        n = self._splits.oA.shape[1]
        for left in np.unique(turns.turns_remaining).tolist():
            rows = np.flatnonzero(turns.turns_remaining == left)
            view = np.searchsorted(self._numbers, numbers_of(turns.counts[rows], turns.my_utilities[rows]))
            counts, last = turns.counts[rows].astype(np.int64), turns.last_partner_act[rows].astype(np.int64)
            claim = _split_index(counts, counts - turns.last_partner_offer_for_me[rows])
            code = self.codes[left][view, np.where(last <= Act.INSIST, last * n + claim, 2 * n)].astype(np.int64)
            offer = code < 2 * n
            act[rows] = np.where(offer, code // n, code - 2 * n + Act.AGREE)
            oA[rows] = self._splits.oA[view, np.where(offer, code % n, 0)] * offer[:, None]
        return decide(act, oA)


def _split_index(counts: Index, claims: Index) -> Index:
    """The index ``[R]`` of each claim among the splits of its pool, in lexicographic order."""
    number: Index = (claims[:, 0] * (counts[:, 1] + 1) + claims[:, 1]) * (counts[:, 2] + 1) + claims[:, 2]
    return number


DIGITS = 6
SOLVERS: dict[str, Solver] = {
    "strictest": strictest_cce,
    "max_welfare": max_welfare_cce,
    "nash_bargaining": nash_bargaining_cce,
}


def starting_members(specs: Sequence[str]) -> tuple[str, ...]:
    """The members of ``specs`` that are deterministic and memoryless. Raises :class:`InputError` if there are none."""
    traits = {spec: seat_occupant(spec).traits for spec in specs}
    found = tuple(spec for spec, trait in traits.items() if trait.deterministic and trait.memoryless)
    if not found:
        raise InputError(
            f"none of {', '.join(specs)} is deterministic and memoryless; use --start heuristic, for example"
        )
    return found


def solve_pools(
    kinds: Sequence[tuple[Scenarios, float]],
    members: Sequence[str],
    turns: int,
    solver: str,
    most: int,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run every pool until no seat gains, or for ``most`` iterations; ``report`` reports each iteration."""
    began, pools = time.process_time(), []
    for space, share in kinds:
        name, last = " ".join(map(str, space.counts[0].tolist())), None
        start = None
        for number, last in enumerate(double_oracle(space, members, Rules(turns), SOLVERS[solver], most=most), start=1):
            start = start or last
            report(_progress_line(name, number, last))
        assert last is not None and start is not None
        pools.append(
            {
                "pool": name,
                "share": round(share, DIGITS),
                "iterations": number,
                "closed": max(last.gaps) <= CLOSED,
                "members": list(last.members),
                "played": list(last.played),
                **{key: _round_all(getattr(last, key)) for key in ("values", "gaps", "apart")},
                "first": {key: _round_all(getattr(start, key)) for key in ("values", "gaps")},
                "of_the_start": [_round_all([sum(mix.get(name, 0.0) for name in members)])[0] for mix in last.mixtures],
            }
        )
    return {
        "turns": turns,
        "solver": solver,
        "began_with": list(members),
        "pools": pools,
        "processor_seconds": round(time.process_time() - began, 1),
    }


def _round_all(values: Sequence[float]) -> list[float]:
    return [round(float(value), DIGITS) + 0.0 for value in values]


def _progress_line(pool: str, number: int, found: Iteration) -> str:
    values, gaps = (" ".join(f"{value:7.4f}" for value in pair) for pair in (found.values, found.gaps))
    joining = f"joining: {', '.join(found.joining)}" if found.joining else "no seat gains"
    played, members = ("+".join(map(str, pair)) for pair in (found.played, found.members))
    return f"pool {pool}, {number:3d}: points {values}, gains {gaps}, {played} of {members} play; {joining}"


def means_over_pools(row: Mapping[str, Any], *keys: str) -> list[float]:
    """Values of both seats over all scenarios: means over the kinds of pools, weighted; negative gains count 0."""
    shares, total = np.array([pool["share"] for pool in row["pools"]]), []
    for seat in range(len(SEATS)):
        worth = np.array([_nested(pool, keys)[seat] for pool in row["pools"]])
        total.append(float(shares @ (np.maximum(worth, 0.0) if keys[-1] == "gaps" else worth) / shares.sum()))
    return total


def _nested(pool: Mapping[str, Any], keys: Sequence[str]) -> Sequence[float]:
    found: Any = pool
    for key in keys:
        found = found[key]
    return list(found)


def oracle_section(row: Mapping[str, Any]) -> Section:
    """A row of the file as a table: pool by pool, then the mean over all of them."""

    def cells(values: Sequence[float], gaps: Sequence[float]) -> list[str]:
        return [f"{number:.2f}" for number in (*values, *np.maximum(gaps, 0.0))]

    heads = ("pool", "iterations", "members", "points, seat_0", "seat_1", "gain, seat_0", "gain, seat_1",
             "play of the first")  # fmt: skip
    rows = [
        [pool["pool"], str(pool["iterations"]), "+".join(map(str, pool["members"])),
         *cells(pool["values"], pool["gaps"]), " and ".join(f"{share:.0%}" for share in pool["of_the_start"])]
        for pool in row["pools"]
    ]  # fmt: skip
    rows.append(["all", "", "", *cells(means_over_pools(row, "values"), means_over_pools(row, "gaps")), ""])
    open_ = [pool["pool"] for pool in row["pools"] if not pool["closed"]]
    return table_section(
        f"Double oracle, {row['turns']} turns, {row['solver']} CCE",
        heads,
        rows,
        "Points of ten. Gain: exact gain of the best policy with perfect recall over the equilibrium.",
        f"Starts with {', '.join(row['began_with'])}; members of both seats are counted at the end.",
        "No seat gains in any pool." if not open_ else f"Stopped early: {', '.join(open_)}.",
    )


def oracles_section(rows: Sequence[Mapping[str, Any]]) -> Section:
    """The end of each run, one row per number of turns and solver."""
    cells = []
    for row in rows:
        pools = row["pools"]
        closed = f"{sum(pool['closed'] for pool in pools)} of {len(pools)}"
        sizes = (_range([pool["iterations"] for pool in pools]), _range([sum(pool["members"]) for pool in pools]))
        points = [f"{value:.2f}" for value in means_over_pools(row, "values")]
        gains = [f"{gap:.4f}" for gap in means_over_pools(row, "gaps")]
        first = " and ".join(f"{share:.0%}" for share in means_over_pools(row, "of_the_start"))
        cells.append(
            [
                str(row["turns"]),
                row["solver"],
                closed,
                *sizes,
                *points,
                *gains,
                first,
                f"{row['processor_seconds']:.0f}",
            ]
        )
    heads = ("turns", "equilibrium", "pools without gains", "iterations", "members at the end", "points, seat_0",
             "seat_1", "gain, seat_0", "seat_1", "play of the first members", "processor seconds")  # fmt: skip
    return table_section("Double oracle", heads, cells)


def _range(numbers: Sequence[int]) -> str:
    return f"{min(numbers)} to {max(numbers)}" if min(numbers) < max(numbers) else str(numbers[0])


def read_oracles(path: Path) -> list[Mapping[str, Any]]:
    """The rows of a results file, none without a file. Raises :class:`InputError` if it is damaged."""
    return read_rows(path, oracle_section, "double oracles")


def write_oracle(path: Path, row: Mapping[str, Any]) -> None:
    """Write ``row`` to the file; it replaces an older row with the same turns, solver and members."""
    replace_row(path, read_oracles(path), row, lambda each: (each["turns"], each["solver"], each["began_with"]))


RESULTS = Path("runs/double_oracle.jsonl")


@experiment_command(__doc__, stopped="nothing is written", results=False)
@click.option("--turns", type=integer(2, 4), default=3, metavar="N", help="turns of a game, 2 to 4 (3)")
@click.option("--solver", type=click.Choice(tuple(SOLVERS)), default="strictest", help="equilibrium (strictest)")
@click.option("--start", multiple=True, metavar="OCCUPANT", help=f"first members (the roster {TRAIN})")
@click.option("--most", type=integer(1, 10_000), default=400, metavar="N", help="iterations per pool (400)")
@click.option("--results", type=FILE, default=RESULTS, metavar="FILE", help=f"results file ({RESULTS})")
def command(turns: int, solver: str, start: tuple[str, ...], most: int, results: Path) -> None:
    """Solve, print every iteration, and write the end."""
    check_writable(results)
    read_oracles(results)
    row = solve_pools(all_pool_kinds(), starting_members(start or roster(TRAIN)), turns, solver, most, print_line)
    write_oracle(results, row)
    show_sections(oracle_section(row))
    print_line(f"written: {results}")
