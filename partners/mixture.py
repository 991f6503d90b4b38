"""A partner that is somebody else in every game."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dond_marl.occupants import seat_occupant
from dond_marl.randomness import NOISE_WIDTH
from dond_marl.seats import Decisions, Partner, Traits, Turns

ZOO = "zoo"  # in place of a list: every scripted partner of the built-in catalogue
WHO = NOISE_WIDTH - 1  # the uniform of the game that says who plays; the others are left to whoever that is


class Mixture:
    """Draws one of several partners for each game and stays it to the end.

    Source: mixed strategies; a population of partners as one opponent (Strouse et al. 2021, arXiv 2110.08176).
    ``of``: names or mappings of occupants, or ``zoo``; ``weights``: how often each, by default equally.
    """

    def __init__(self, of: Sequence[str] | str, weights: Sequence[float] | None = None) -> None:
        specs = _scripted() if of == ZOO else of
        if isinstance(specs, str) or not isinstance(specs, Sequence) or not specs:
            raise ValueError(f"of must be a list of occupants, or {ZOO}; got {of!r}")
        self.specs = tuple(specs)
        self.partners: tuple[Partner, ...] = tuple(seat_occupant(spec) for spec in specs)
        shares = np.ones(len(specs)) if weights is None else np.asarray(weights, dtype=float)
        if shares.shape != (len(specs),) or not np.isfinite(shares).all() or (shares < 0).any() or not shares.any():
            raise ValueError(f"weights must be {len(specs)} numbers of at least 0, not all 0; got {weights!r}")
        self._ends = np.cumsum(shares / shares.sum())[:-1]

    def __repr__(self) -> str:
        return f"Mixture(of={list(self.specs)!r})"

    @property
    def traits(self) -> Traits:
        """It gambles; otherwise as its partners are together."""
        each = [partner.traits for partner in self.partners]
        return Traits(
            memoryless=all(traits.memoryless for traits in each),
            learned=any(traits.learned for traits in each),
            remote=any(traits.remote for traits in each),
            human=any(traits.human for traits in each),
            privileged=any(traits.privileged for traits in each),
        )

    def act(self, turns: Turns) -> Decisions:
        """One decision per row, each by the partner that plays the row's game."""
        who = np.searchsorted(self._ends, turns.game_noise[:, WHO], side="right")
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        confidence, cause = np.zeros(turns.size, dtype=np.float32), np.zeros(turns.size, dtype=np.int8)
        for number in np.unique(who):
            rows = np.flatnonzero(who == number)
            act[rows], oA[rows], confidence[rows], cause[rows] = self.partners[number].act(turns.rows(rows))
        return Decisions(act, oA, confidence, cause)


def _scripted() -> list[str]:
    from partners.catalogue import PARTNERS  # the catalogue names this class too

    return [name for name in PARTNERS if name not in NOT_SCRIPTED]


NOT_SCRIPTED = ("checkpoint", "expert", "mixture")
