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
    plain = {name: _as(defaults.get(name), value) for name, value in given.items()}
    return spec_name({"kind": kind, **{name: value for name, value in plain.items() if value != defaults.get(name)}})


def _as(default: object, value: object) -> object:
    return float(value) if isinstance(default, float) and type(value) is int else value
