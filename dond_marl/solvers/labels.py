"""The value of the label: what it is worth to a partner's opponent to say PROPOSE, or INSIST, or either.

By the rules PROPOSE and INSIST of one split are the same act, but a partner may answer them differently. A seat that
says one label alone plays against a partner that *reads* every offer with that label (:class:`ReadsAs`), so that the
best response with one label is the best response to that reader: the solvers of this package need no restriction of
their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act, Rules
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Decisions, Doubles, History, Partner, Traits, Turns, expensive_to_query
from dond_marl.solvers.adaptive import is_enumerable
from dond_marl.solvers.automata import HasPersonas, Remembers, drawn_personas
from dond_marl.solvers.best_response import exact_by_answers
from dond_marl.solvers.contexts import prior_contexts
from dond_marl.solvers.replies import Probable, Replies
from dond_marl.solvers.values import response_value

LABELS = (Act.PROPOSE, Act.INSIST)
BLOCK = 64  # views whose probabilities are compared at once


class ReadsAs:
    """A partner that reads every offer of the other seat as a ``label``, PROPOSE or INSIST, and else plays as ``of``.

    It has the traits of ``of``, its summary, its personas and its probabilities, where that has them.
    """

    insist_is_propose: ClassVar[bool] = True

    def __init__(self, partner: Partner, label: Act) -> None:
        self.partner, self.label = partner, label
        if isinstance(partner, Remembers):
            self.summary = self._summary
        if isinstance(partner, Probable):
            self.probs = self._probs
        if isinstance(partner, HasPersonas):
            self.personas = self._personas

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.partner!r}, {self.label.name})"

    @property
    def traits(self) -> Traits:
        return self.partner.traits

    def act(self, turns: Turns) -> Decisions:
        return self.partner.act(self.relabel(turns))

    def relabel(self, turns: Turns) -> Turns:
        """The turns with the label in every offer of the other seat."""
        last = np.where(turns.last_partner_act <= Act.INSIST, self.label, turns.last_partner_act).astype(np.int8)
        history = turns.history
        if turns.turns_taken and not self.traits.memoryless:  # gathering the history takes time
            acts = history.act.T.copy()
            partner_acts = acts[1 - turns.seat :: 2]
            partner_acts[partner_acts <= Act.INSIST] = self.label
            messages = history.messages.T if history.has_messages else None
            history = History(acts, history.oA.transpose(1, 2, 0), turns.turns_taken, messages=messages)
        return turns._replace(last_partner_act=last, history=history)

    def _summary(self, turns: Turns) -> NDArray[np.generic]:
        assert isinstance(self.partner, Remembers)
        return self.partner.summary(self.relabel(turns))

    def _probs(self, turns: Turns, max_count: int) -> Doubles:
        assert isinstance(self.partner, Probable)
        return self.partner.probs(self.relabel(turns), max_count)

    def _personas(self) -> Sequence[tuple[float, Partner]]:
        assert isinstance(self.partner, HasPersonas)
        return [(chance, ReadsAs(persona, self.label)) for chance, persona in self.partner.personas()]


def reads_labels(partner: Partner, source: ScenarioSource, rules: Rules = Rules()) -> bool:
    """Whether ``partner`` may answer an offer differently by its label.

    All answers are compared, in every view of the source's prior and at every turn, where a partner without memory is
    deterministic or knows its probabilities. One with memory is taken at its word (``insist_is_propose``). True where
    neither is possible.
    """
    if not partner.traits.deterministic and isinstance(partner, HasPersonas):
        return any(reads_labels(persona.partner, source, rules) for persona in drawn_personas(partner))
    traits = partner.traits
    if not traits.memoryless:
        return not getattr(partner, "insist_is_propose", False)
    if expensive_to_query(traits) or not (traits.deterministic or isinstance(partner, Probable)):
        return True
    tables = [Replies(partner, rules, prior_contexts(source, 1 - seat).partner_views, source.prior) for seat in (0, 1)]
    for turns_left in range(1, rules.max_turns):
        replies = tables[(rules.max_turns - turns_left) % 2]  # of the seat to move
        n = replies.width
        for views in np.array_split(np.arange(replies.views.size), replies.views.size // BLOCK + 1):
            answers = replies.codes(turns_left)[views] if traits.deterministic else replies.probs(turns_left, views)
            if not np.array_equal(answers[:, :n], answers[:, n : 2 * n]):
                return True
    return False


class LabelLosses(NamedTuple):
    """Points of ten that the best response of a seat loses if it says one label alone."""

    propose: float
    insist: float


def label_losses(partner: Partner, source: ScenarioSource, rules: Rules, seat: int) -> LabelLosses | None:
    """The losses of the best response of ``seat`` to ``partner`` by its labels; ``None`` where it is not exact.

    Zeros, and nothing is solved, for a partner without memory that answers both labels alike.
    """
    if not reads_labels(partner, source, rules):
        return LabelLosses(0.0, 0.0)
    if not (exact_by_answers(partner, rules) or is_enumerable(partner, rules)):
        return None
    either, *alone = (
        response_value(policy, source, rules, seat)
        for policy in (partner, *(ReadsAs(partner, label) for label in LABELS))
    )
    if not (either.exact and all(value.exact for value in alone)):
        return None
    return LabelLosses(*(either.low - value.low for value in alone))
