"""A past as a value: everybody whom somebody met, whom those had met, and how it is noted in a checkpoint.

Everybody is named by one text, the identity that :mod:`partners.provenance` makes of an occupant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeGuard

ITSELF = ""  # in a past: whoever the past is of
MET, THROUGH, DESCENDS, UNKNOWN = "met", "met_through", "descends_from", "met_unknown"
NO_PLACE = -1  # in met_through, which holds of everybody in met the place there of who met them: whoever the note is of
KEYS = (MET, THROUGH, DESCENDS, UNKNOWN)  # of a note


class Ancestry(NamedTuple):
    """Everybody in somebody's past, by identity.

    ``through``: of everybody whom it or its ancestors met, who met them (``ITSELF``: it did). ``descends_from``: whose
    weights or play it was made from, sorted. ``unknown``: those of its past whose meetings nobody wrote down, sorted;
    ``ITSELF`` where that is so of itself.
    """

    through: Mapping[str, str]
    descends_from: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def met(self) -> tuple[str, ...]:
        """The identities of all, sorted."""
        return tuple(sorted(self.through))

    def meets(self, others: Iterable[Known]) -> Ancestry:
        """The same past after it has met ``others``: all of their past is in its own."""
        others = tuple(others)
        through = {**self.through, **{other.identity: ITSELF for other in others}}
        unknown = set(self.unknown)
        for name, past in others:
            for identity, by in past.through.items():
                through.setdefault(identity, by or name)
            unknown |= {identity or name for identity in past.unknown}
        return Ancestry(through, self.descends_from, tuple(sorted(unknown)))

    def descends(self, parent: Known) -> Ancestry:
        """The same past of somebody who was made from ``parent``: from its weights, or from its play."""
        parents = {*self.descends_from, parent.identity, *parent.past.descends_from}
        return self.meets([parent])._replace(descends_from=tuple(sorted(parents)))

    def also(self, other: Ancestry) -> Ancestry:
        """Everybody of this past and of an ``other`` one of the same learner, as after a resumption."""
        through, parents = {**other.through, **self.through}, {*self.descends_from, *other.descends_from}
        return Ancestry(through, tuple(sorted(parents)), tuple(sorted({*self.unknown, *other.unknown})))

    def path(self, identity: str) -> tuple[str, ...]:
        """How somebody in this past was met: from the one who met first, who is it or an ancestor, to ``identity``."""
        path = [identity]
        while (by := self.through.get(path[-1], ITSELF)) != ITSELF and by not in path:
            path.append(by)
        return tuple(reversed(path))

    def note(self) -> dict[str, Any]:
        """What a checkpoint notes of it, as plain JSON values; :func:`past_in` reads it back."""
        met = self.met
        place = {identity: number for number, identity in enumerate(met)}
        return {
            MET: list(met),
            THROUGH: [place.get(self.through[identity], NO_PLACE) for identity in met],
            DESCENDS: list(self.descends_from),
            UNKNOWN: list(self.unknown),
        }


class Known(NamedTuple):
    """An occupant's identity and its past."""

    identity: str
    past: Ancestry


NOBODY = Ancestry({})
NOT_KNOWN = Ancestry({}, unknown=(ITSELF,))


def past_in(note: Mapping[str, Any]) -> Ancestry:
    """The past that a checkpoint's note holds; of one without, it is not known."""
    met, through, parents, unknown = (note.get(key) for key in KEYS)
    if not (_is_texts(met) and _is_texts(parents) and _is_texts(unknown) and isinstance(through, list)):
        return NOT_KNOWN
    if len(through) != len(met) or not all(type(place) is int and NO_PLACE <= place < len(met) for place in through):
        return NOT_KNOWN
    by = {name: met[place] if place >= 0 else ITSELF for name, place in zip(met, through, strict=True)}
    return Ancestry(by, tuple(sorted(parents)), tuple(sorted(unknown)))


def _is_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
