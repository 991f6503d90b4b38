"""A judge without a language model: it keeps the simple rules that agree with a few labelled episodes.

It sees episodes with answers, but never the name of the style. From a menu of plain statements about an episode and
their opposites it keeps those that label every episode correctly, and lets them vote. With a few episodes many rules
are left, most of them beside the point: that is its error, and it shrinks as episodes are added.

It stands in for a language model, and is no measure of one: its menu was written by people who knew the four
definitions, each of which is on it. Source: version spaces, Mitchell 1982 ("Generalization as search").
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.game import Act
from dond_marl.seats import Bools, Int8s
from partners.judges.episodes import JUDGED, OTHER, LabelledGames, worked_episodes
from partners.judges.judge import JudgeReward, Verdict, count_verdicts
from partners.judges.styles import Style, count_offers, score_leads, style_named
from partners.parameters import check_whole_number

EXAMPLES = 3  # as many as a language model is shown


def statements(games: Games, seat: int) -> dict[str, Bools]:
    """The menu: statements about each game, and whether they are true, ``[N]`` each."""
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
    """Votes by the rules that agree with most of the ``labelled`` episodes, if possible all; a tie is a no."""

    def __init__(self, style: Style, labelled: LabelledGames) -> None:
        self.style, self.labelled = style, labelled
        self.tally: Counter[str] = Counter()

    @cached_property
    def rules(self) -> list[tuple[str, bool]]:
        """Statements that must be true of an episode, or (with False) false."""
        menu = statements(self.labelled.games, self.labelled.seat)
        right = {
            (name, wanted): int(((true == wanted) == self.labelled.labels).sum())
            for name, true in menu.items()
            for wanted in (True, False)
        }
        return [rule for rule, hits in right.items() if hits == max(right.values())]

    def verdicts(self, games: Games, seat: int) -> Int8s:
        """A :class:`Verdict` for each game, ``[N]``."""
        menu = statements(games, seat)
        votes = np.sum([menu[name] == wanted for name, wanted in self.rules], axis=0)
        verdicts = np.where(2 * votes > len(self.rules), Verdict.YES, Verdict.NO).astype(np.int8)
        return count_verdicts(self.tally, verdicts)


def local_judge(style: str, examples: int = EXAMPLES, seed: int = 0) -> JudgeReward:
    """Ten points where rules distilled from ``examples`` (1..100) labelled episodes, chosen by ``seed``, say *style*.

    Raises ``ValueError``.
    """
    judged_style = style_named("style", style)
    check_whole_number("examples", examples, 1, 100)
    check_whole_number("seed", seed, 0, 2**31 - 1)
    return JudgeReward(LocalJudge(judged_style, worked_episodes(judged_style, examples, seed)))


def _demands(games: Games, seat: int) -> NDArray[np.int64]:
    """What each own act asked for, in points, ``[N, own turns]``; -1 where it was no offer."""
    act, oA = games.act[:, seat::2], games.oA[:, seat::2]
    points = np.einsum("nti,ni->nt", oA, games.scenarios.utilities[:, seat], dtype=np.int64)
    return np.where((act == Act.PROPOSE) | (act == Act.INSIST), points, -1)


def _first(demands: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first offer's points, ``[N]``; -1 without an offer."""
    first: NDArray[np.int64] = demands[np.arange(len(demands)), (demands >= 0).argmax(axis=1)]
    return first
