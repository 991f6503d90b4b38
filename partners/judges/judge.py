"""Judges as rewards: whether a seat negotiated in a style, for every finished game; and a judge by simple rules.

A game without a verdict (a service is down, a budget is spent, an answer is neither yes nor no) is paid the mean of the
judged games of its block, which favours neither, and is counted. If most verdicts are missing, learning stops with
:class:`JudgeError`. Source: Kwon et al. 2023 (arXiv 2303.00001), section 3: a language model's yes or no in place of a
reward function; there an episode without a readable answer is left out of the update.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import RunFailure
from dond_marl.game import SEATS, Act
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools, Int8s
from dond_marl.statistics import TEN
from partners.judges.episodes import JUDGED, OTHER, LabelledGames, worked_episodes
from partners.judges.styles import Style, count_offers, score_leads, style_named
from partners.parameters import check_whole_number

EXAMPLES = 3  # worked episodes of a judge
MOST_FAILED = 0.5  # share of a block's games that may be without a verdict


class Verdict(IntEnum):
    """A judge's answer about one game."""

    NONE = -1  # no readable answer
    NO = 0
    YES = 1


class JudgeError(RunFailure):
    """Too few verdicts to learn from: how many failed, why, and what to do. Learning must stop."""


@runtime_checkable
class Judge(Protocol):
    """The protocol of judges: decide whether a seat negotiated in a style."""

    @property
    def style(self) -> Style: ...

    @property
    def tally(self) -> Counter[str]:
        """Counts since its creation: ``yes``, ``no``, ``unjudged_<cause>``, and possibly more."""
        ...

    def verdicts(self, games: Games, seat: int) -> Int8s:
        """A :class:`Verdict` on ``seat`` for each game, ``[N]``. Raises :class:`JudgeError` and :class:`SetupError`."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeReward:
    """A reward of 10 points for a game in the judge's style, 0 for another; without a verdict the mean."""

    judge: Judge
    seats: tuple[int, ...] = (0, 1)  # seats that are judged: verdicts may cost money

    def for_seat(self, seat: int) -> JudgeReward:
        """The same reward for one seat; the pay of the other is 0 and has no meaning."""
        return JudgeReward(self.judge, (seat,))

    def __call__(self, games: Games, earned: NDArray[np.float64], _scenarios: Scenarios, /) -> NDArray[np.float64]:
        """Points of ten, ``[N, 2]``. Raises :class:`JudgeError` and what the judge raises."""
        pay = np.zeros_like(earned)
        for seat in self.seats if games.size else ():
            verdicts = self.judge.verdicts(games, seat)
            judged = verdicts != Verdict.NONE
            if judged.mean() < 1 - MOST_FAILED:
                raise JudgeError(_missing_verdicts(self.judge, int((~judged).sum()), games.size, seat))
            pay[:, seat] = np.where(judged, verdicts, verdicts[judged].mean()) * TEN
        return pay


def count_verdicts(tally: Counter[str], verdicts: Int8s) -> Int8s:
    """Add the numbers of yes and no to a judge's ``tally``; returns ``verdicts``."""
    tally["yes"] += int((verdicts == Verdict.YES).sum())
    tally["no"] += int((verdicts == Verdict.NO).sum())
    return verdicts


def _missing_verdicts(judge: Judge, failed: int, games: int, seat: int) -> str:
    why = ", ".join(f"{name} {times}" for name, times in sorted(judge.tally.items()) if name.startswith("unjudged_"))
    return (
        f"the judge of style {judge.style} has no verdict on {failed} of {games} games of {SEATS[seat]} "
        f"(so far: {why or 'uncounted'}), too few to learn from. Repair the service, raise its budget, or resume from "
        "the last checkpoint"
    )


def statements(games: Games, seat: int) -> dict[str, Bools]:
    """The menu of rules: statements about each game, with their truth, ``[N]`` each."""
    lead, offers = score_leads(games)[:, seat], count_offers(games)
    made, theirs = offers.made[:, seat], offers.made[:, 1 - seat]
    different, their_different = offers.different[:, seat], offers.different[:, 1 - seat]
    own, other = games.act[:, seat::2], games.act[:, 1 - seat :: 2]
    wholes, items = games.scenarios.pool_values, games.scenarios.counts.sum(axis=1, dtype=np.int64)
    agreed, won = games.deal, games.allocation.sum(axis=2, dtype=np.int64)
    demands = _demands(games, seat)
    return {
        f"{JUDGED} earns more than {OTHER}": lead > 0,
        f"{JUDGED} earns less than {OTHER}": lead < 0,
        f"{JUDGED} earns at least half of its points": agreed & (2 * games.scores[:, seat] >= wholes[:, seat]),
        f"{OTHER} earns at least half of its points": agreed & (2 * games.scores[:, 1 - seat] >= wholes[:, 1 - seat]),
        f"{JUDGED} gets most of the items": 2 * won[:, seat] > items,
        "there is an agreement": agreed,
        f"{JUDGED} agrees": (own == Act.AGREE).any(axis=1),
        f"{OTHER} agrees": (other == Act.AGREE).any(axis=1),
        f"{JUDGED} offers the same split more than once": different < made,
        f"{JUDGED} makes several offers and never the same twice": (made >= 2) & (different == made),
        f"{JUDGED} makes several offers": made >= 2,
        f"{JUDGED} makes three offers or more": made >= 3,
        f"{JUDGED} insists": (own == Act.INSIST).any(axis=1),
        f"{OTHER} insists": (other == Act.INSIST).any(axis=1),
        f"{OTHER} offers the same split more than once": their_different < theirs,
        f"{OTHER} makes several offers and never the same twice": (theirs >= 2) & (their_different == theirs),
        f"{JUDGED} asks for everything": (demands == wholes[:, [seat]]).any(axis=1),
        f"{JUDGED} asks for less at last than at first": _first(demands) > _first(demands[:, ::-1]),
        f"{JUDGED} disagrees or ends the talk": ((own == Act.DISAGREE) | (own == Act.END)).any(axis=1),
        "eight things or more are said": games.turns >= 8,
    }


class LocalJudge:
    """A judge without a language model: a vote of the simple rules that agree with a few labelled episodes.

    It sees episodes with answers, but never the name of the style. From a menu of statements about an episode and their
    negations it selects those that label the most episodes correctly, if possible all; a tie of the vote is a no. With
    few episodes many rules remain, most of them irrelevant: that is its error, which shrinks with more episodes. It is
    no measure of a language model: its authors knew the four definitions, each of which is on the menu. Source: version
    spaces, Mitchell 1982 ("Generalization as search").
    """

    def __init__(self, style: Style, labelled: LabelledGames) -> None:
        self.style, self.labelled = style, labelled
        self.tally: Counter[str] = Counter()

    @cached_property
    def rules(self) -> list[tuple[str, bool]]:
        """The selected statements, each with whether it must be true."""
        menu = statements(self.labelled.games, self.labelled.seat)
        right = {
            (name, shown): int(((true == shown) == self.labelled.labels).sum())
            for name, true in menu.items()
            for shown in (True, False)
        }
        return [rule for rule, hits in right.items() if hits == max(right.values())]

    def verdicts(self, games: Games, seat: int) -> Int8s:
        """A :class:`Verdict` for each game, ``[N]``."""
        menu = statements(games, seat)
        votes = np.sum([menu[name] == shown for name, shown in self.rules], axis=0)
        verdicts = np.where(2 * votes > len(self.rules), Verdict.YES, Verdict.NO).astype(np.int8)
        return count_verdicts(self.tally, verdicts)


def local_judge(style: str, examples: int = EXAMPLES, seed: int = 0) -> JudgeReward:
    """A reward of 10 points where :class:`LocalJudge` finds ``style``; its ``examples`` (1..100) are drawn by ``seed``.

    Raises ``ValueError``.
    """
    judged_style = style_named("style", style)
    check_whole_number("examples", examples, 1, 100)
    check_whole_number("seed", seed, 0, 2**31 - 1)
    return JudgeReward(LocalJudge(judged_style, worked_episodes(judged_style, examples, seed)))


def _demands(games: Games, seat: int) -> NDArray[np.int64]:
    """Points that each own offer demands, ``[N, own turns]``; -1 for other acts."""
    act, oA = games.act[:, seat::2], games.oA[:, seat::2]
    points = np.einsum("nti,ni->nt", oA, games.scenarios.utilities[:, seat], dtype=np.int64)
    return np.where((act == Act.PROPOSE) | (act == Act.INSIST), points, -1)


def _first(demands: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first offer's points, ``[N]``; -1 without an offer."""
    first: NDArray[np.int64] = demands[np.arange(len(demands)), (demands >= 0).argmax(axis=1)]
    return first
