"""Kinds of occupants in a spec: which are expensive to query, and which are code from outside this project."""

from __future__ import annotations

from functools import lru_cache

from dond_marl.occupants import OccupantNameError, Spec, catalogue, names_file, read_spec, seat_occupant
from dond_marl.seats import expensive_to_query
from partners.catalogue import PARTNERS

COSTLY = frozenset(("human", "llm"))  # the project's expensive occupants


@lru_cache(maxsize=4096)
def kinds_in(spec: Spec) -> frozenset[str]:
    """The kind that a spec names and those in its parameters, as in a mixture; other words there count as kinds too."""
    values = spec.parameters.values()
    items = [item for value in values for item in (value if isinstance(value, list | tuple) else [value])]
    inside = (read_spec(item) for item in items if isinstance(item, str))
    return frozenset((spec.kind,)).union(*(kinds_in(part) for part in inside if part is not None))


@lru_cache(maxsize=4096)
def is_costly(spec: Spec) -> bool:
    """Whether the occupant is expensive to query: a language model or a person.

    Decided by the name, so that a report needs no key, model or file; for occupants of other packages and files by
    their traits (:func:`dond_marl.seats.expensive_to_query`), for which they are made.
    """
    kinds = kinds_in(spec)
    if kinds & COSTLY or not is_foreign(spec):
        return bool(kinds & COSTLY)
    try:
        return expensive_to_query(seat_occupant(spec).traits)
    except OccupantNameError:
        return False


def is_foreign(spec: Spec) -> bool:
    """Whether code from outside this project is in an occupant: of another package, or of a file."""
    kinds = kinds_in(spec)
    return bool(kinds & (catalogue().keys() - PARTNERS.keys())) or any(map(names_file, kinds))
