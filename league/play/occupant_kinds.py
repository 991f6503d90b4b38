"""Kinds of occupants: those that are expensive to query, and those that are code from outside this project."""

from __future__ import annotations

from functools import lru_cache

from dond_marl.occupants import OccupantNameError, Spec, catalogue, names_file, read_spec, seat_occupant
from dond_marl.seats import Partner, expensive_to_query

IN_GAMES_ONLY = "it is queried in its games alone (exact=True or --exact also queries the thousands of its answers)"
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
    from partners.catalogue import PARTNERS  # loads clients of language models, which a game in the terminal lacks

    kinds = kinds_in(spec)
    return bool(kinds & (catalogue().keys() - PARTNERS.keys())) or any(map(names_file, kinds))


def is_free(partner: Partner) -> bool:
    """Whether a partner may be queried beyond its games: it and those inside it are neither expensive nor foreign."""
    if not type(partner).__module__.startswith("partners.") or expensive_to_query(partner.traits):
        return False
    lists = [value if isinstance(value, list | tuple) else (value,) for value in vars(partner).values()]
    return all(is_free(inner) for values in lists for inner in values if isinstance(inner, Partner))
