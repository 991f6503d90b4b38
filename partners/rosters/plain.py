"""One text for one partner: a spec without the parameters that are at their defaults anyway."""

from __future__ import annotations

import inspect

from dond_marl.occupants import Spec, check_spec, parse_spec, spec_name


def plain_name(spec: Spec) -> str:
    """``linear(exponent=1, floor=0.5)`` is ``linear``; a whole number for a fraction is a fraction.

    Raises :class:`dond_marl.occupants.OccupantNameError` for who is not known. Occupants inside stay as they are.
    """
    kind, given = parse_spec(spec)
    defaults = {name: p.default for name, p in inspect.signature(check_spec(spec)).parameters.items()}
    plain = {name: as_default(value, defaults.get(name)) for name, value in given.items()}
    return spec_name({"kind": kind, **{name: value for name, value in plain.items() if value != defaults.get(name)}})


def as_default(value: object, default: object) -> object:
    """``value`` as a fraction where it is a whole number and the default is a fraction."""
    return float(value) if isinstance(default, float) and type(value) is int else value
