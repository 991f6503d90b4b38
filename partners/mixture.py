"""Partners that are several: one that draws another one for each game, and one that is another one in each seat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dond_marl.errors import shown
from dond_marl.occupants import Spec, seat_occupant, spec_name
from dond_marl.seats import Decisions, Doubles, Partner, Rows, Texts, Traits, Turns

BELOW_ONE = np.nextafter(1.0, 0.0)
WHO = -1  # the last of a game's eight uniforms says who plays; the others are left to that partner


class Mixture:
    """Draws one of several partners for each game and stays it to the end.

    ``of``: occupants (names, mappings or partners); ``weights``: how often each, by default equally; ``names``: how
    each is called, by default by its spec.
    """

    def __init__(
        self,
        of: Sequence[Spec | Partner],
        weights: Sequence[float] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(of, str) or not isinstance(of, Sequence) or not of:
            raise ValueError(f"of must be a list of occupants, or zoo; got {shown(of)}")
        self.specs = tuple(of)
        self._names = None if names is None else tuple(names)
        self.partners: tuple[Partner, ...] = tuple(seat_occupant(spec) for spec in of)
        shares = np.ones(len(of)) if weights is None else np.asarray(weights)
        numbers = shares.dtype.kind in "iuf" and shares.shape == (len(of),) and np.isfinite(shares).all()
        if not numbers or (shares < 0).any() or not shares.any():
            raise ValueError(f"weights must be {len(of)} numbers of at least 0, not all 0; got {shown(weights)}")
        ends = np.cumsum(shares)
        self._ends: Doubles = ends / ends[-1]  # exactly 1 from the last that ever plays on

    def __repr__(self) -> str:
        return f"Mixture(of={list(self.specs)!r})"

    @property
    def traits(self) -> Traits:
        every = [partner.traits for partner in self.partners]
        passed_on = ("learned", "remote", "human", "privileged", "costly")
        marks = {name: any(getattr(traits, name) for traits in every) for name in passed_on}
        return Traits(memoryless=all(traits.memoryless for traits in every), **marks)

    @property
    def ends(self) -> Doubles:
        """Where each partner's part of a draw in [0, 1) ends, ``[K]``; the last is 1."""
        return self._ends

    @property
    def names(self) -> tuple[str, ...]:
        """How each partner is called: by its spec, by its ``repr`` where it was handed in itself, or as was said."""
        if self._names is not None:
            return self._names
        return tuple(spec_name(spec) if isinstance(spec, str | Mapping) else repr(spec) for spec in self.specs)

    def personas(self) -> list[tuple[float, Partner]]:
        """Whom it may draw for a game, and how probably."""
        return list(zip(np.diff(self._ends, prepend=0.0).tolist(), self.partners, strict=True))

    def drawn(self, game_noise: Doubles) -> tuple[Rows, Doubles]:
        """Which partner it draws by ``game_noise[B, 8]``, ``[B]``, and the noise as it hands it on, ``[B, 8]``."""
        draw = game_noise[:, WHO]
        who = np.searchsorted(self._ends[:-1], draw, side="right")
        starts, noise = np.append(0.0, self._ends)[who], game_noise.copy()
        # The rest of the draw is a uniform again and is handed on, so that a mixture of mixtures draws twice.
        noise[:, WHO] = np.clip((draw - starts) / (self._ends[who] - starts), 0.0, BELOW_ONE)
        return who, noise

    def act(self, turns: Turns) -> Decisions:
        who, noise = self.drawn(turns.game_noise)
        order = np.argsort(who, kind="stable")  # each partner's games side by side: gathered once, then slices
        theirs = turns.rows(order)._replace(game_noise=noise[order])
        act, oA = np.empty(turns.size, dtype=np.int8), np.empty((turns.size, 3), dtype=np.int8)
        confidence, cause = np.empty(turns.size, dtype=np.float32), np.empty(turns.size, dtype=np.int8)
        messages: Texts | None = None
        stops = np.cumsum(np.bincount(who, minlength=len(self.partners))).tolist()
        for partner, start, stop in zip(self.partners, [0, *stops], stops, strict=False):
            if start < stop:
                rows = order[start:stop]
                said = partner.act(theirs.rows(slice(start, stop)))
                act[rows], oA[rows], confidence[rows], cause[rows] = said[:4]
                if said.messages is not None:
                    messages = np.full(turns.size, "", dtype=np.object_) if messages is None else messages
                    messages[rows] = said.messages
        return Decisions(act, oA, confidence, cause, messages)


class BySeat:
    """Plays as ``first`` where it opens and as ``second`` where it answers."""

    def __init__(self, first: Partner, second: Partner) -> None:
        self.seats = first, second

    @property
    def traits(self) -> Traits:
        own = [partner.traits for partner in self.seats]
        passed_on = ("learned", "remote", "human", "privileged", "costly")
        marks = {name: any(getattr(traits, name) for traits in own) for name in passed_on}
        for name in ("deterministic", "memoryless"):
            marks[name] = all(getattr(traits, name) for traits in own)
        return Traits(**marks)

    def act(self, turns: Turns) -> Decisions:
        """What whoever has the seat says; acts alternate, so that all games of one call have the same mover."""
        return self.seats[turns.taken % 2].act(turns)


def in_seat(partner: Partner, seat: int) -> Partner:
    """Who plays where ``partner`` sits in ``seat``."""
    return partner.seats[seat] if isinstance(partner, BySeat) else partner
