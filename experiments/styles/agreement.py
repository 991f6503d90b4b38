"""How far a judge and the definition of a style agree: accuracy, Cohen's kappa, and the four counts behind them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dond_marl.seats import Bools, Int8s
from partners.judges.judge import Verdict


class Agreement(NamedTuple):
    """Games by what the judge said and what is so; agreements add up with :meth:`plus`."""

    yes_yes: int = 0  # said yes, and the game is in the style
    yes_no: int = 0  # said yes, and it is not
    no_yes: int = 0
    no_no: int = 0
    unjudged: int = 0  # said neither: in no figure but their own share

    @property
    def judged(self) -> int:
        """Games with a verdict."""
        return self.yes_yes + self.yes_no + self.no_yes + self.no_no

    @property
    def accuracy(self) -> float:
        """Share of the judged games in which both say the same; ``nan`` without any."""
        return (self.yes_yes + self.no_no) / self.judged if self.judged else math.nan

    @property
    def majority(self) -> float:
        """The accuracy of always giving the commoner answer; ``nan`` without judged games."""
        yes = self.yes_yes + self.no_yes
        return max(yes, self.judged - yes) / self.judged if self.judged else math.nan

    @property
    def kappa(self) -> float:
        """Agreement beyond chance, 1 at most, 0 for chance; ``nan`` where one answer is all there is on both sides.

        Source: Cohen 1960, "A coefficient of agreement for nominal scales".
        """
        if not self.judged:
            return math.nan
        verdicts, truths = self.yes_yes + self.yes_no, self.yes_yes + self.no_yes
        chance = (verdicts * truths + (self.judged - verdicts) * (self.judged - truths)) / self.judged**2
        return (self.accuracy - chance) / (1 - chance) if chance < 1 else math.nan

    def plus(self, other: Agreement) -> Agreement:
        return Agreement(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def agreement(verdicts: Int8s, labels: Bools) -> Agreement:
    """The agreement of ``verdicts`` (a :class:`Verdict` each) with the true ``labels``, both ``[N]``."""
    yes, no = verdicts == Verdict.YES, verdicts == Verdict.NO
    counts = (yes & labels, yes & ~labels, no & labels, no & ~labels, ~(yes | no))
    return Agreement(*(int(np.count_nonzero(games)) for games in counts))
