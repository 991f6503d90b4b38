"""A language model in a seat: all games of a turn are asked for at once, and only legal acts are played.

Where no legal reply comes, a fallback plays, and every decision carries its cause.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np

from dond_marl.errors import quote
from dond_marl.game import Act
from dond_marl.seats import UNREACHED, Cause, Decisions, Doubles, Int8s, Partner, Rows, Traits, Turns, constant, decide
from dond_marl.splits import action_count, action_index
from partners.llm.client import Client, Failure, ModelReply, Query, query_all
from partners.llm.local.client import LocalClient
from partners.llm.prompt import HISTORY_CAP, Template, load_template, sort_by_value, with_correction
from partners.llm.reply import LegalReply, Reading, Reason, legal_rows, read_reply
from partners.parameters import check_whole_number
from partners.scripted.heuristic import Heuristic

Fallback = Literal["greedy", "end", "forfeit"]
QueryResult = LegalReply | Reason | Failure  # what came of an ask
_SAMPLE_NOISE = 4  # which of the turn's uniforms draws the sample
_CAUSES: dict[Reason | Failure, Cause] = {Reason.ILLEGAL: Cause.ILLEGAL, Failure.BUDGET: Cause.BUDGET}


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Always ENDs, so that the latest claims decide; with ``disagree`` it DISAGREEs where that ends without a deal."""

    disagree: bool = False
    traits: ClassVar = Traits(deterministic=True, memoryless=True)

    def act(self, turns: Turns) -> Decisions:
        act = Act.DISAGREE if self.disagree and turns.rules.disagree == "ends" else Act.END
        return decide(constant(act, np.int8, turns.size), constant(0, np.int8, turns.size, 3))


FALLBACKS: dict[Fallback, Partner] = {"greedy": Heuristic(), "end": GiveUp(), "forfeit": GiveUp(disagree=True)}


class LLMPartner:
    """Plays what ``client``'s model answers to ``template``, by default the shipped prompt.

    ``history_cap``: acts of the history in the prompt. ``re_asks``: how often a reply that was refused is asked for
    again, with what was wrong about it. ``fallback``: who plays where no legal reply came: ``greedy`` (the default
    heuristic), ``end`` or ``forfeit``, whose games are the model's own (``Cause.FORFEIT``). ``samples``: different
    answers that one prompt may get; with 1, games in the same position get the same answer, and one question serves
    them all. ``reading``: ``strict`` takes one JSON object and nothing around it; ``lenient`` also lets one code fence
    around it pass, and one ``<think>...</think>`` before. ``sorted_items``: the model is told of the items least valued
    first, whatever they are called (:func:`partners.llm.prompt.by_value`), so that one question serves all positions
    that are alike but for the names; not in games with messages, whose words name the items.

    ``tally`` counts ``decisions``, ``free`` ones, ``re_asked``, ``rejected_<reason>`` (replies refused),
    ``failed_<failure>`` (asks without a reply) and ``fallback_<cause>`` (decisions that the fallback made); of the
    replies read, ``let_pass_fence``, ``let_pass_thinking`` and ``confidence_clipped``. Raises ``ValueError``.
    """

    def __init__(
        self,
        client: Client,
        template: Template | None = None,
        *,
        history_cap: int = HISTORY_CAP,
        re_asks: int = 1,
        fallback: Fallback = "greedy",
        samples: int = 1,
        reading: Reading = "strict",
        sorted_items: bool = False,
    ) -> None:
        if not isinstance(sorted_items, bool):
            raise ValueError(f"sorted_items must be true or false; got {quote(sorted_items)}")
        check_whole_number("history_cap", history_cap, 0, 100)
        check_whole_number("re_asks", re_asks, 0, 10)
        check_whole_number("samples", samples, 1, 10**6)
        if fallback not in FALLBACKS:
            raise ValueError(f"fallback must be one of {', '.join(get_args(Fallback))}; got {quote(fallback)}")
        if reading not in get_args(Reading):
            raise ValueError(f"reading must be one of {', '.join(get_args(Reading))}; got {quote(reading)}")
        self.client, self.reading = client, reading
        self.template = load_template() if template is None else template
        self.history_cap, self.re_asks, self.fallback, self.samples = history_cap, re_asks, fallback, samples
        self.sorted_items = sorted_items
        self.tally: Counter[str] = Counter()

    @property
    def traits(self) -> Traits:
        """Chance decides only which sample it gets; it reads the whole history."""
        return Traits(deterministic=self.samples == 1, learned=True, remote=self.client.remote, costly=True)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row, each legal. Raises what the client raises."""
        told, order = self._told(turns)
        results = self._results(told) if turns.size else []
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        confidence, cause = np.zeros(turns.size, dtype=np.float32), np.zeros(turns.size, dtype=np.int8)
        messages = np.full(turns.size, "", dtype=np.object_) if turns.rules.message_length else None
        for row, result in enumerate(results):
            if isinstance(result, LegalReply):
                if messages is not None:
                    messages[row] = result.say
                act[row], oA[row] = result.action
                confidence[row] = result.confidence
            else:
                cause[row] = _CAUSES.get(result, Cause.UNPARSABLE if isinstance(result, Reason) else Cause.UNREACHABLE)
        if order is not None:
            np.put_along_axis(oA, order, oA.copy(), axis=1)
        fallen = np.flatnonzero(cause)
        if len(fallen):
            played = FALLBACKS[self.fallback].act(turns.rows(fallen))
            act[fallen], oA[fallen], confidence[fallen] = played.act_type, played.oA, played.confidence
        self._count(cause)
        if self.fallback == "forfeit":  # the end of the game is then its own, by its user's choice
            cause[np.isin(cause, UNREACHED)] = Cause.FORFEIT
        return Decisions(act, oA, confidence, cause, messages)

    def _told(self, turns: Turns) -> tuple[Turns, Rows | None]:
        """The turns as the model is told of them, and which item stands where, if that was changed."""
        return sort_by_value(turns) if self.sorted_items and not turns.rules.message_length else (turns, None)

    def _results(self, turns: Turns) -> list[QueryResult]:
        prompts, legal = self.template.render(turns, self.history_cap), legal_rows(turns)
        samples = np.zeros(turns.size) if self.samples == 1 else turns.noise[:, _SAMPLE_NOISE] * self.samples
        asks = [Query(*row) for row in zip(prompts, legal, samples.astype(int).tolist(), strict=True)]
        reworded = partial(_reworded, say=any(row.say for row in legal))
        return query_all(
            self.client, asks, self.read, reworded, re_asks=self.re_asks, tally=self.tally, samples=self.samples
        )

    def read(self, ask: Query, reply: ModelReply) -> QueryResult:
        """What ``reply`` to ``ask`` comes to, counted in ``tally``."""
        result = reply.failure or read_reply(reply.text, ask.legal, finished=reply.finished, reading=self.reading)
        if isinstance(result, Failure):
            self.tally[f"failed_{result}"] += 1
        elif isinstance(result, Reason):
            self.tally[f"rejected_{result}"] += 1
        else:
            self.tally.update(result.notes)
        return result

    def _count(self, cause: Int8s) -> None:
        self.tally["decisions"] += len(cause)
        for number, times in enumerate(np.bincount(cause, minlength=len(Cause)).tolist()):
            if times:
                name = Cause(number).name.lower()
                self.tally[name if number == Cause.FREE else f"fallback_{name}"] += times


class LocalLLMPartner(LLMPartner):
    """An :class:`LLMPartner` whose model is ``local``: it knows the probability of everything that it could reply.

    ``client`` is ``local`` itself, or a cache before it.
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
        sorted_items: bool = False,
    ) -> None:
        super().__init__(
            client, template, history_cap=history_cap, re_asks=0, fallback=fallback, samples=samples,
            sorted_items=sorted_items,
        )  # fmt: skip
        self.local = local

    @property
    def traits(self) -> Traits:
        """With no more of the history than the last act, it has no memory; the rest is in the other variables."""
        return replace(super().traits, memoryless=self.history_cap <= 1)

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``, rows summing to 1."""
        turns, order = self._told(turns)
        prompts = self.template.render(turns, self.history_cap)
        asks = [Query(prompt, legal) for prompt, legal in zip(prompts, legal_rows(turns), strict=True)]
        different = list(dict.fromkeys(asks))
        scores = dict(zip(different, self.local.scores(different), strict=True))
        probs: Doubles = np.zeros((turns.size, action_count(max_count)))
        for row, ask in enumerate(asks):
            actions = list(ask.legal.actions())
            act = np.array([action.act_type for action in actions], dtype=np.int8)
            oA = np.array([action.oA for action in actions], dtype=np.int8)
            if order is not None:
                oA[:, order[row]] = oA.copy()
            probs[row, action_index(act, oA, max_count)] = scores[ask]
        return probs


def _reworded(prompt: str, result: QueryResult, *, say: bool) -> str | None:
    """The prompt that asks for a better reply, where a reply came and was refused; ``say``: messages may pass."""
    return with_correction(prompt, result, say=say) if isinstance(result, Reason) else None
