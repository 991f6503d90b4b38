"""A person in a seat, with the observations and the rules of any other occupant.

The person acts through an :class:`Interface`: a terminal, a page, a script in a test.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dond_marl.errors import quote
from dond_marl.game import Act, Action, IllegalAct, Scenario, State, Triple, apply, rule_against
from dond_marl.occupants import is_plain_name
from dond_marl.records.transcript import as_message
from dond_marl.seats import Decisions, Traits, Turns, decide


class View(NamedTuple):
    """One game as the person whose turn it is sees it."""

    state: State  # as the seat knows it: the partner's values are zeros unless ``revealed``
    revealed: bool = False
    place: int = 1  # number of this game among those that wait for an answer,
    places: int = 1  # and their total

    @property
    def seat(self) -> int:
        return self.state.mover

    @property
    def counts(self) -> Triple:
        return self.state.scenario.counts

    @property
    def values(self) -> Triple:
        return self.state.scenario.utilities[self.seat]

    @property
    def mine(self) -> Triple | None:
        """The person's latest claim, ``None`` before the first."""
        return self.state.claims[self.seat]

    @property
    def theirs(self) -> Triple | None:
        """The partner's latest claim, ``None`` before the first."""
        return self.state.claims[1 - self.seat]

    def rule_against(self, action: Action) -> str | None:
        """The rule that forbids ``action`` here, in words, or ``None`` if it is legal."""
        return rule_against(self.state, action)


@runtime_checkable
class Interface(Protocol):
    """The way to get a person's acts."""

    def ask(self, view: View) -> Action:
        """The person's act, a legal one. An exception counts as a failure of the person's seat.

        In games with messages, ``message(view) -> str``, if the interface has it, is then called for the text.
        """
        ...


class Human:
    """A person, who answers through ``interface``. Raises :class:`IllegalAct` where that lets an illegal act pass."""

    traits = Traits(human=True)

    def __init__(self, interface: Interface) -> None:
        if not isinstance(interface, Interface):
            raise TypeError(f"a person needs an interface with ask(view); got {type(interface).__name__}")
        self.interface = interface

    def __repr__(self) -> str:
        return f"Human({type(self.interface).__name__})"

    def act(self, turns: Turns) -> Decisions:
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        length = turns.rules.message_length
        write = getattr(self.interface, "message", None) if length else None
        messages = None if write is None else np.full(turns.size, "", dtype=np.object_)
        for row, view in enumerate(views(turns)):
            action = self.interface.ask(view)
            rule = view.rule_against(action)  # here, while its numbers are still whole: int8 would fold large ones
            if rule is not None:
                raise IllegalAct(f"the person's interface let an illegal act pass: {rule}")
            act[row], oA[row] = action
            if messages is not None and write is not None:
                messages[row] = as_message(write(view), length)
        return decide(act, oA)._replace(messages=messages)


def human(interface: str) -> Human:
    """A person, who is asked act by act through ``interface``.

    Source: this project. ``interface``: ``module:name`` of a class or function that takes no arguments
    and gives an object with ``ask(view) -> action``.

    - ``interface``: ``module:name``.
    """
    module, colon, name = interface.partition(":")
    if not (module and colon and is_plain_name(name)):
        raise ValueError(f"interface is written module:name, such as dond.table.game:Terminal; got {quote(interface)}")
    return Human(getattr(importlib.import_module(module), name)())


def views(turns: Turns) -> Iterator[View]:
    """One view per row of ``turns``."""
    acts, offers = turns.history.act.tolist(), turns.history.oA.tolist()
    messages = turns.history.messages.tolist()
    columns = turns.counts.tolist(), turns.my_utilities.tolist(), turns.partner_utilities.tolist()
    for row, (counts, my_values, partner_values) in enumerate(zip(*columns, strict=True)):
        utilities = (
            (tuple(my_values), tuple(partner_values)) if turns.seat == 0 else (tuple(partner_values), tuple(my_values))
        )
        state = State(Scenario(tuple(counts), utilities), turns.rules)
        for act, oA, message in zip(acts[row], offers[row], messages[row], strict=True):
            state = apply(state, Action(Act(act), tuple(oA)), message)
        yield View(state, any(partner_values), row + 1, turns.size)
