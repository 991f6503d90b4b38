"""A partner that is somebody else in every game."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dond_marl.occupants import Spec, seat_occupant
from dond_marl.seats import Decisions, Partner, Traits, Turns

ZOO = "zoo"  # in place of a list: every scripted partner of the built-in catalogue
BELOW_ONE = np.nextafter(1.0, 0.0)
WHO = -1  # the last of the eight: the uniform of the game that says who plays; the others are left to whoever that is


class Mixture:
    """Draws one of several partners for each game and stays it to the end.

    Source: mixed strategies; a population of partners as one opponent (Strouse et al. 2021, arXiv 2110.08176).
    ``of``: occupants (names, mappings or partners), or ``zoo``; ``weights``: how often each, by default equally.
    """

    def __init__(self, of: Sequence[Spec | Partner] | str, weights: Sequence[float] | None = None) -> None:
        specs = _scripted() if of == ZOO else of
        if isinstance(specs, str) or not isinstance(specs, Sequence) or not specs:
            raise ValueError(f"of must be a list of occupants, or {ZOO}; got {of!r}")
        self.specs = tuple(specs)
        self.partners: tuple[Partner, ...] = tuple(seat_occupant(spec) for spec in specs)
        shares = np.ones(len(specs)) if weights is None else np.asarray(weights)
        numbers = shares.dtype.kind in "iuf" and shares.shape == (len(specs),) and np.isfinite(shares).all()
        if not numbers or (shares < 0).any() or not shares.any():
            raise ValueError(f"weights must be {len(specs)} numbers of at least 0, not all 0; got {weights!r}")
        ends = np.cumsum(shares)
        self._ends = ends / ends[-1]  # exactly 1 from the last that ever plays on

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
        draw = turns.game_noise[:, WHO]
        who = np.searchsorted(self._ends[:-1], draw, side="right")
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        confidence, cause = np.zeros(turns.size, dtype=np.float32), np.zeros(turns.size, dtype=np.int8)
        for number in np.unique(who):
            rows = np.flatnonzero(who == number)
            # What the draw has left to say is handed on, so that a mixture of mixtures draws twice.
            start = self._ends[number - 1] if number else 0.0
            noise = turns.game_noise[rows].copy()
            noise[:, WHO] = np.clip((draw[rows] - start) / (self._ends[number] - start), 0.0, BELOW_ONE)
            said = self.partners[number].act(turns.rows(rows)._replace(game_noise=noise))
            act[rows], oA[rows], confidence[rows], cause[rows] = said
        return Decisions(act, oA, confidence, cause)


def _scripted() -> list[Spec | Partner]:
    from partners.catalogue import PARTNERS, UNSCRIPTED  # the catalogue names this class too

    return [name for name in PARTNERS if name not in UNSCRIPTED]
