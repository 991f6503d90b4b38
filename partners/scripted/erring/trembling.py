"""A partner whose hand trembles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dond_marl.occupants import Spec, seat_occupant
from dond_marl.seats import Decisions, Doubles, Partner, Traits, Turns
from dond_marl.splits import certain
from partners.parameters import check_share
from partners.scripted.chance import Random

_WHETHER = -2  # the second but last uniform of a turn says whether it trembles
_BELOW_ONE = np.nextafter(1.0, 0.0)


class Trembling:
    """Says what another partner would, but now and then any legal act by mistake.

    Source: the trembling hand (Selten 1975, *Reexamination of the perfectness concept for equilibrium points in
    extensive games*, section 7): every act has a chance. A mistake is what ``random`` says, so that AGREE, DISAGREE and
    END are as likely as all offers of one kind together. It knows its probabilities (``probs``) where ``of`` is
    deterministic or knows its own; what ``of`` remembers, it remembers. It does not notice a mistake: its confidence is
    that of what it meant to say, by which whoever is hinted by it cannot tell the mistakes.

    - ``of``: an occupant.
    - ``rate``: 0..1, how often it trembles.
    """

    def __init__(self, of: Spec | Partner = "heuristic", rate: float = 0.1) -> None:
        check_share("rate", rate)
        self.of, self.rate = seat_occupant(of), rate
        self._name = of if isinstance(of, str) else repr(of)
        if self.of.traits.deterministic or hasattr(self.of, "probs"):
            self.probs = self._probs
        if hasattr(self.of, "summary"):
            self.summary = self.of.summary

    def __repr__(self) -> str:
        return f"Trembling(of={self._name!r}, rate={self.rate!r})"

    @property
    def traits(self) -> Traits:
        return replace(self.of.traits, deterministic=False)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; whether it trembles is drawn from noise 6, of which the rest is handed on."""
        draw = turns.noise[:, _WHETHER]
        trembles = draw < self.rate
        rest = np.where(trembles, 0.0, (draw - self.rate) / (1 - self.rate) if self.rate < 1 else 0.0)
        noise = turns.noise.copy()
        noise[:, _WHETHER] = np.clip(rest, 0.0, _BELOW_ONE)
        meant, slip = self.of.act(turns._replace(noise=noise)), Random().act(turns)
        return Decisions(
            np.where(trembles, slip.act_type, meant.act_type),
            np.where(trembles, slip.oA.T, meant.oA.T).T,
            meant.confidence,
            np.where(trembles, slip.cause, meant.cause),
        )

    def _probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        if self.of.traits.deterministic:
            meant = self.of.act(turns)
            chances = certain(meant.act_type, meant.oA, max_count)
        else:
            chances = self.of.probs(turns, max_count)  # type: ignore[attr-defined]
        slips = Random().probs(turns, max_count)
        return self.rate * slips + (1 - self.rate) * chances
