"""What training alone is told of a game: the partner's values, and who it was. No seat ever sees it.

A head that says what a network believes is taught by it, and a critic may read it. It travels beside the decisions in
:class:`partners.learning.experience.Experience`; what plays is made of features, which hold none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dond_marl.seats import Doubles, Int8s, Partner, Rows
from partners.mixture import Mixture

NOBODY = -1  # the number of a partner that is none of the members


def members_of(partner: Partner) -> tuple[str, ...]:
    """The names of all whom a mixture may draw, mixtures in it too, sorted; none of anybody else."""
    return tuple(sorted(set(_named(partner))))


def told(partner: Partner, members: Sequence[str], utilities: Int8s, game_noise: Doubles) -> NDArray[np.int64]:
    """The partner's values and its number among ``members``, or :data:`NOBODY`: ``[N, 4]``.

    ``utilities[N, 3]``: the partner's; ``game_noise[N, 8]``: what it draws by (see :class:`partners.mixture.Mixture`).
    """
    numbers = {name: number for number, name in enumerate(members)}
    return np.column_stack([utilities.astype(np.int64), _who(partner, game_noise, numbers)])


def _named(partner: Partner) -> list[str]:
    if not isinstance(partner, Mixture):
        return []
    pairs = zip(partner.names, partner.partners, strict=True)
    return [name for of, one in pairs for name in (_named(one) if isinstance(one, Mixture) else [of])]


def _who(partner: Partner, game_noise: Doubles, numbers: Mapping[str, int]) -> Rows:
    found = np.full(len(game_noise), NOBODY)
    if not isinstance(partner, Mixture):
        return found
    drawn, noise = partner.drawn(game_noise)
    for number, (name, one) in enumerate(zip(partner.names, partner.partners, strict=True)):
        rows = np.flatnonzero(drawn == number)
        found[rows] = numbers[name] if name in numbers else _who(one, noise[rows], numbers)
    return found
