"""What callers give the environments: settings by name, options of ``reset``. A mistake says what is allowed."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec

from dond_marl.envs.spaces import brief
from dond_marl.game import Scenario

Given = ParamSpec("Given")
SCENARIO = "scenario"  # the only option of reset
_NEAR = (
    0.85  # of difflib: "scenarios", "senario" and "Scenario" are slips of the pen, "scenario_id" is another's option
)


def by_name(init: Callable[Given, None]) -> Callable[Given, None]:
    """``init`` with a ``TypeError`` of our own for a setting that it does not have, or that is given without a name."""
    known = tuple(inspect.signature(init).parameters)[1:]

    @functools.wraps(init)
    def checked(*given: Given.args, **settings: Given.kwargs) -> None:
        if len(given) > 1:
            raise TypeError(f"settings are given by name, {known[0]}=... and so on; got {brief(given[1])} without one")
        check_known(settings, known)
        init(*given, **settings)

    return checked


def check_known(given: Iterable[str], known: Sequence[str]) -> None:
    """Raise ``TypeError`` for a setting that does not exist."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise TypeError(f"there is no setting {name!r}{hint}; the settings are {', '.join(known)}")


def check_one_of(name: str, given: object, allowed: tuple[object, ...]) -> None:
    """Raise ``ValueError`` unless ``given`` is one of ``allowed``."""
    if given not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {given!r}")


def check_folder(name: str, given: object) -> None:
    """Raise ``ValueError`` unless ``given`` is a path or ``None``."""
    if given is not None and not isinstance(given, str | os.PathLike):
        raise ValueError(f"{name} must be the path of a folder, or None for the default one; got {brief(given)}")


def scenario_option(options: Mapping[str, Any] | None, max_count: int) -> Scenario | None:
    """The table that the options of ``reset`` set by hand. Raises ``TypeError`` and ``ValueError``."""
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise TypeError(f"options must be a mapping such as {{'{SCENARIO}': ...}}, or None; got {brief(options)}")
    for name in options:
        if name != SCENARIO and difflib.get_close_matches(str(name).lower(), [SCENARIO], cutoff=_NEAR):
            raise ValueError(f"there is no option {name!r}: did you mean {SCENARIO!r}?")
    given = options.get(SCENARIO)
    return None if given is None else _scenario(given, max_count)


def _scenario(given: object, max_count: int) -> Scenario:
    if isinstance(given, Mapping) and given.keys() == {"counts", "utilities"}:
        try:
            given = Scenario(given["counts"], tuple(given["utilities"]))
        except (TypeError, ValueError) as error:
            raise ValueError(f"options['{SCENARIO}']: {error}") from None
    if not isinstance(given, Scenario):
        raise ValueError(
            f"options['{SCENARIO}'] must be a Scenario or {{'counts': 3 integers, 'utilities': one vector of 3 "
            f"integers per seat}}; got {brief(given)}"
        )
    if max(given.counts) > max_count:
        raise ValueError(
            f"options['{SCENARIO}'] has counts {given.counts}, more of one type than max_count={max_count}, which the "
            f"spaces are made for; build the environment with max_count={max(given.counts)}"
        )
    return given
