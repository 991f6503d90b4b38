"""Our partners as negotiators of NegMAS, and our scenarios as its scenarios.

NegMAS is AGPL: in this package only this file imports it, in the process of a user who runs NegMAS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dond_marl.batch import GameBatch
from dond_marl.envs.negmas_worker import issues_of, ufun_of
from dond_marl.errors import InputError, missing_library
from dond_marl.game import Act, Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.rollout import Noise, observe_turns
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Decisions, Partner, decide

try:
    from negmas import Scenario
    from negmas.outcomes import make_os
    from negmas.sao import ResponseType, SAOResponse
    from negmas.sao.negotiators import SAOCallNegotiator
except ModuleNotFoundError as error:
    raise (missing_library(error, "a negotiator of NegMAS") or error) from error

NEAR = 1e-6  # of a utility
MOST_POOL_VALUE = 120  # points: 4 of each of three types, 10 points each
LONGEST = 100  # acts of a game


def scenarios_of(scenarios: Scenarios) -> list[Scenario]:
    """Our scenarios as NegMAS scenarios, the first utility function that of seat_0."""
    converted = []
    for number, (counts, utilities) in enumerate(
        zip(scenarios.counts.tolist(), scenarios.utilities.tolist(), strict=True)
    ):
        ufuns = tuple(ufun_of(counts, utilities[seat], seat) for seat in (0, 1))
        converted.append(Scenario(make_os(issues_of(counts), name=f"deal{number}"), ufuns, name=f"deal{number}"))
    return converted


class OurNegotiator(SAOCallNegotiator):  # type: ignore[misc]
    """One of our partners as a negotiator of NegMAS: ``mechanism.add(OurNegotiator("expert"), preferences=ufun)``.

    The negotiation must have the form of :func:`scenarios_of`: three issues of whole numbers from 0, and a utility
    function that is linear in each; the values are read from it. ``n_steps`` of 1 to 50 rounds is a game of twice as
    many acts; with ``one_offer_per_step`` a step is an act. PROPOSE and INSIST are offers, AGREE accepts, DISAGREE and
    END end the negotiation. An offer equal to the one on the table accepts it, and so does END after such an offer: in
    our game two claims that add up are a deal at the end, in NegMAS they are not. A refusal without an offer is shown
    to our partner as INSIST on the other's last offer, or on everything; if our partner agrees, it is offered back.

    - ``occupant``: a name, a mapping with ``kind``, or a partner.
    - ``seed``: of its noise.

    Raises :class:`~dond_marl.errors.InputError` in a negotiation of another form.
    """

    def __init__(self, occupant: Spec | Partner = "expert", seed: int = 0, **settings: Any) -> None:
        super().__init__(**settings)
        self._occupant, self._seed = seat_occupant(occupant, one_game=True), seed
        self._table: GameBatch | None = None
        self._claim: tuple[int, ...] | None = None

    def on_negotiation_start(self, state: Any) -> None:
        """Read the game from the issues and the utility function."""
        super().on_negotiation_start(state)
        self._table = None

    def __call__(self, state: Any, dest: str | None = None) -> SAOResponse:  # noqa: ARG002  # what NegMAS asks
        """One act, as a response."""
        offer = state.current_offer
        if self._table is None:
            self._begin()
            self._opens = state.last_negotiator is None
        table = self._table
        assert table is not None
        if not (self._opens and table.turns_taken == 0):
            table.step(self._as_decision(offer))
        decisions = self._occupant.act(
            observe_turns(table, self._noise, deterministic=self._occupant.traits.deterministic)
        )
        act, oA = int(decisions.act_type[0]), decisions.oA[0].tolist()
        if act == Act.AGREE and offer is None:  # the offer is no longer on the table: offer it back
            act, oA = Act.PROPOSE, [c - k for c, k in zip(self._counts, self._theirs, strict=True)]
            decisions = decide(np.array([act]), np.array([oA]))
        if act in (Act.PROPOSE, Act.INSIST):
            self._claim = self._outcome(oA)
        complementary = offer is not None and self._claim == tuple(offer)
        if act == Act.AGREE or (act in (Act.PROPOSE, Act.INSIST, Act.END) and complementary):
            return SAOResponse(ResponseType.ACCEPT_OFFER, offer)
        if act in (Act.PROPOSE, Act.INSIST):
            table.step(decisions)
            return SAOResponse(ResponseType.REJECT_OFFER, self._claim)
        return SAOResponse(ResponseType.END_NEGOTIATION, None)

    def _begin(self) -> None:
        issues = self.nmi.outcome_space.issues
        try:
            values = [[int(value) for value in issue.all] for issue in issues]
        except (TypeError, ValueError):
            values = []
        if len(values) != 3 or any(sorted(each) != list(range(len(each))) for each in values):
            raise InputError(f"{self.name} plays three issues of whole numbers from 0; got {issues}")
        self._counts = [len(each) - 1 for each in values]
        steps, atomic = self.nmi.n_steps, self.nmi.one_offer_per_step
        turns = None if steps is None else steps if atomic else 2 * steps
        if turns is None or not 1 <= turns <= LONGEST:
            raise InputError(f"{self.name} plays games of at most {LONGEST} acts, two a step; got n_steps {steps}")
        utilities = self._utilities()
        both = np.array([[utilities, utilities]], dtype=np.int8)  # the other's values are unknown and not shown
        scenario = Scenarios(np.array([self._counts], dtype=np.int8), both)
        self._table = GameBatch(scenario, Rules(turns), prior="lewis")
        self._noise = Noise(self._seed, (), 1)
        self._claim = None
        self._theirs: list[int] = list(self._counts)

    def _utilities(self) -> list[int]:
        """The value of one item of each type, from the utility function; also sets the direction of the issues."""
        nothing, everything = [0] * 3, self._counts
        gains = []
        for item in range(3):
            single = [*nothing]
            single[item] = min(1, everything[item])
            gains.append(float(self.ufun(tuple(single))) - float(self.ufun(tuple(nothing))))
        self._reversed = min(gains) < -NEAR  # the issues are the other seat's items
        if self._reversed and max(gains) > NEAR:
            raise InputError(f"{self.name} wants more of everything, or less of everything; got {gains} an item")
        worth = [abs(gain) for gain in gains]
        whole = sum(each * count for each, count in zip(worth, everything, strict=True))
        if whole < NEAR:
            raise InputError(f"{self.name} values nothing of the pool {everything}")
        for points in (10, *range(1, MOST_POOL_VALUE + 1)):
            scaled = [each / whole * points for each in worth]
            if all(abs(each - round(each)) < 1e-3 and each < 10.5 for each in scaled):
                return [round(each) for each in scaled]
        raise InputError(f"{self.name} plays where an item is worth 0 to 10 points; got utilities of {worth} an item")

    def _outcome(self, oA: Sequence[int]) -> tuple[int, ...]:
        return tuple(c - k if self._reversed else k for k, c in zip(oA, self._counts, strict=True))

    def _as_decision(self, offer: Any) -> Decisions:
        """The other seat's act, from the offer on the table."""
        act = Act.INSIST
        if offer is not None:
            act = Act.PROPOSE
            mine = self._outcome([int(value) for value in offer])  # the mapping is its own inverse
            self._theirs = [c - k for k, c in zip(mine, self._counts, strict=True)]
        return decide(np.array([act]), np.array([self._theirs]))
