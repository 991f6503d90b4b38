"""A language model on this machine in a seat: it knows the probability of everything that it could say."""

from __future__ import annotations

import numpy as np

from dond_marl.seats import Doubles, Traits, Turns
from dond_marl.splits import action_count, action_index
from partners.llm.client import Ask, Client
from partners.llm.local.client import LocalClient
from partners.llm.partner import Fallback, LLMPartner
from partners.llm.prompt import HISTORY_CAP, Template
from partners.llm.reply import legal_rows


class LocalLLMPartner(LLMPartner):
    """An :class:`LLMPartner` whose model is ``local``, and that therefore has ``probs``.

    ``client`` is ``local`` itself, or a cache before it. At temperature 0 it is deterministic. Above, it draws one of
    ``samples`` answers by the turn's noise.
    """

    def __init__(
        self,
        client: Client,
        local: LocalClient,
        template: Template | None = None,
        *,
        history_cap: int = HISTORY_CAP,
        fallback: Fallback = "greedy",
        samples: int = 1,
    ) -> None:
        super().__init__(client, template, history_cap=history_cap, re_asks=0, fallback=fallback, samples=samples)
        self.local = local

    @property
    def traits(self) -> Traits:
        """With no more of the history than the last act, it has no memory; the rest is in the other variables."""
        return Traits(deterministic=self.samples == 1, memoryless=self.history_cap <= 1, learned=True)

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``, rows summing to 1."""
        asks = [
            Ask(prompt, legal)
            for prompt, legal in zip(self.template.render(turns, self.history_cap), legal_rows(turns), strict=True)
        ]
        once = list(dict.fromkeys(asks))
        known = dict(zip(once, self.local.scores(once), strict=True))
        found: Doubles = np.zeros((turns.size, action_count(max_count)))
        for row, ask in enumerate(asks):
            actions = list(ask.legal.actions())
            act = np.array([action.act_type for action in actions], dtype=np.int8)
            oA = np.array([action.oA for action in actions], dtype=np.int8)
            found[row, action_index(act, oA, max_count)] = known[ask]
        return found
