"""Base classes of scripted partners: a frozen dataclass whose fields are the parameters."""

from __future__ import annotations

from typing import ClassVar

from dond_marl.occupants import SpecLike, seat_occupant
from dond_marl.seats import Partner, Traits
from partners.parameters import check_fields


class ScriptedPartner:
    """A partner without randomness that reads INSIST as PROPOSE, unless its class says otherwise.

    Raises ``ValueError`` for a parameter outside the range that its field declares (:mod:`partners.parameters`).
    """

    traits: ClassVar[Traits] = Traits(deterministic=True)
    insist_is_propose: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)


class MemorylessPartner(ScriptedPartner):
    """Such a partner whose act depends on its values, the partner's last act and offer, and the turn."""

    traits: ClassVar[Traits] = Traits(deterministic=True, memoryless=True)


class RandomPartner(ScriptedPartner):
    """A partner that draws its acts and remembers nothing."""

    traits: ClassVar[Traits] = Traits(memoryless=True)


class Wrapper:
    """A partner that plays as another occupant, ``of``, with something changed; it has the traits of that one."""

    def __init__(self, of: SpecLike | Partner = "heuristic", **parameters: float) -> None:
        self.of = seat_occupant(of)
        self._parameters = {"of": of if isinstance(of, str) else repr(of), **parameters}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._parameters.items())})"

    @property
    def traits(self) -> Traits:
        return self.of.traits

    @property
    def insist_is_propose(self) -> bool:
        """Whether it reads INSIST as PROPOSE, as the other occupant does."""
        return bool(getattr(self.of, "insist_is_propose", False))
