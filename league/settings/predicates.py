"""Predicates of one's own that end a stage of practice: ``my_file.py:Name(parameter=value)``.

A predicate is called after every round of its stage with what the league knows by then
(:class:`league.rounds.curriculum.SoFar`), and says whether the stage is over. It is asked in the process that plans
alone, never by workers, and has to be a function of what it is given: a run that is resumed asks it again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from dond_marl.errors import InputError, shown
from dond_marl.occupants import DIGEST, OccupantNameError, check_named, in_file, parse_spec, pinned
from dond_marl.rollout import one_line

Predicate = Callable[[Any], bool]


class PredicateError(InputError):
    """A predicate that is none, or that cannot be made. The message says which and why."""


def predicate_name(spec: object) -> str:
    """The one way to write a predicate, with the digest of its file. Raises :class:`PredicateError`."""
    expected = f"a predicate is code in a file, my_file.py:Name or my_file.py:Name(parameter=value); got {shown(spec)}"
    if not isinstance(spec, str):
        raise PredicateError(expected)
    try:
        kind, parameters = parse_spec(spec)
        if not in_file(kind):
            raise PredicateError(expected)
        check_named("predicate", {}, kind, parameters)
        return pinned(spec)
    except OccupantNameError as error:
        raise PredicateError(str(error)) from None


@lru_cache(maxsize=64)
def predicate_of(name: str) -> Predicate:
    """The predicate that :func:`predicate_name` wrote. Raises :class:`PredicateError`, also of another file by now."""
    kind, parameters = parse_spec(name)
    try:
        factory: Callable[..., object] = check_named("predicate", {}, kind, parameters)
        made = factory(**{key: value for key, value in parameters.items() if key != DIGEST})
    except OccupantNameError as error:
        raise PredicateError(f"the predicate {kind} cannot be made: {error}") from None
    except Exception as error:  # whatever somebody's own code raises
        raise PredicateError(f"the predicate {kind} cannot be made: {one_line(error)}") from error
    if not callable(made):
        raise PredicateError(f"the predicate {kind} made no function of what a league knows, but {shown(made)}")
    return cast("Predicate", made)
