"""Partners that read every offer with one label, PROPOSE or INSIST.

By the rules PROPOSE and INSIST of one split are the same act, but a partner may answer them differently. A seat that
says one label alone plays against a partner that *reads* every offer with that label (:class:`ReadsAs`).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dond_marl.game import Act, Rules
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Decisions, History, Partner, Traits, Turns, expensive_to_query
from dond_marl.solvers.automata import HasPersonas, drawn_personas
from dond_marl.solvers.contexts import prior_contexts
from dond_marl.solvers.replies import Probable, Replies

LABELS = (Act.PROPOSE, Act.INSIST)
BLOCK = 64  # views whose probabilities are compared at once


class ReadsAs:
    """A partner that reads every offer of the other seat as a ``label``, PROPOSE or INSIST.

    Otherwise it plays as ``partner``, whose traits it has.
    """

    insist_is_propose: ClassVar[bool] = True

    def __init__(self, partner: Partner, label: Act) -> None:
        self.partner, self.label = partner, label

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
