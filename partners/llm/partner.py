"""A language model in a seat: one batch of queries per turn for all games; only legal acts are played.

Without a legal reply a fallback plays, and every decision carries its cause.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from dond_marl.errors import quote
from dond_marl.game import Act
from dond_marl.seats import UNREACHED, Cause, Decisions, Doubles, Int8s, Partner, Rows, Traits, Turns, constant, decide
from dond_marl.splits import action_count, action_index
from partners.llm.client import Client, Failure, ModelReply, Query, query_all
from partners.llm.local.client import LocalClient
from partners.llm.prompt import HISTORY_CAP, Template, load_template, sort_by_value, with_correction
from partners.llm.reply import LegalReply, Reading, Reason, legal_rows, read_reply
from partners.parameters import check_choice, check_whole_number
from partners.scripted.heuristic import Heuristic

Fallback = Literal["greedy", "end", "forfeit"]
QueryResult = LegalReply | Reason | Failure  # of one query
_SAMPLE_NOISE = 4  # index of the turn's uniform that draws the sample
_CAUSES: dict[Reason | Failure, Cause] = {Reason.ILLEGAL: Cause.ILLEGAL, Failure.BUDGET: Cause.BUDGET}


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Always ENDs, so that the latest claims decide; with ``disagree`` it DISAGREEs if that ends without a deal."""

    disagree: bool = False
    traits: ClassVar = Traits(deterministic=True, memoryless=True)

    def act(self, turns: Turns) -> Decisions:
        act = Act.DISAGREE if self.disagree and turns.rules.disagree == "ends" else Act.END
        return decide(constant(act, np.int8, turns.size), constant(0, np.int8, turns.size, 3))


FALLBACKS: dict[Fallback, Partner] = {"greedy": Heuristic(), "end": GiveUp(), "forfeit": GiveUp(disagree=True)}


class LLMPartner:
    """A partner that plays the replies of ``client``'s model to ``template``, by default the shipped prompt.

    ``tally`` counts ``decisions``, ``free`` ones, ``re_asked``, ``rejected_<reason>`` (refused replies),
    ``failed_<failure>`` (queries without a reply), ``fallback_<cause>`` (decisions of the fallback), and of the replies
    ``let_pass_fence``, ``let_pass_thinking`` and ``confidence_clipped``. Raises ``ValueError``.

    Parameters
    ----------
    history_cap
        Acts of the history in the prompt.
    re_asks
        Further queries after a refused reply, each with the reason of the refusal.
    fallback
        Policy for decisions without a legal reply: ``greedy`` (the default heuristic), ``end``, or ``forfeit``, which
        counts as the model's own loss (``Cause.FORFEIT``).
    samples
        Number of independent replies to one prompt; with 1, games in the same position share one reply.
    reading
        ``strict``: a reply is one JSON object and nothing else; ``lenient`` removes one code fence around it, and one
        ``<think>...</think>`` before it.
    sorted_items
        List the items in ascending order of value (:func:`partners.llm.prompt.sort_by_value`), so that positions that
        differ only in the names of items share one query; not in games with messages, which name the items.
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
        check_choice("fallback", fallback, FALLBACKS)
        check_choice("reading", reading, get_args(Reading))
        self.client, self.reading = client, reading
        self.template = load_template() if template is None else template
        self.history_cap, self.re_asks, self.fallback, self.samples = history_cap, re_asks, fallback, samples
        self.sorted_items = sorted_items
        self.tally: Counter[str] = Counter()

    @property
    def traits(self) -> Traits:
        """The only randomness is the choice of the sample; the whole history matters."""
        return Traits(deterministic=self.samples == 1, learned=True, remote=self.client.remote, costly=True)

    def check_key(self) -> None:
        """Raise :class:`~partners.llm.client.SetupError` if the key of the service is missing; nothing is sent."""
        from partners.llm.remote.client import RemoteClient
        from partners.llm.service import read_key

        if isinstance(self.client, RemoteClient):  # not behind a cache, which may hold all replies
            read_key(self.client.settings.key_variable)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row, each legal. Raises what the client raises."""
        queries, order = self.queries(turns)
        if self.samples > 1:
            numbers = (turns.noise[:, _SAMPLE_NOISE] * self.samples).astype(int).tolist()
            queries = [query._replace(sample=number) for query, number in zip(queries, numbers, strict=True)]
        results = self._results(queries) if queries else []
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
        failed = np.flatnonzero(cause)
        if len(failed):
            fallback = FALLBACKS[self.fallback].act(turns.rows(failed))
            act[failed], oA[failed], confidence[failed] = fallback.act_type, fallback.oA, fallback.confidence
        self._count(cause)
        if self.fallback == "forfeit":  # by the user's choice the failure is the model's own
            cause[np.isin(cause, UNREACHED)] = Cause.FORFEIT
        return Decisions(act, oA, confidence, cause, messages)

    def queries(self, turns: Turns) -> tuple[list[Query], Rows | None]:
        """The query for each row, ``[B]``, and the order of the items in the prompts if it was changed."""
        order = None
        if self.sorted_items and not turns.rules.message_length:
            turns, order = sort_by_value(turns)
        return list(map(Query, self.template.render(turns, self.history_cap), legal_rows(turns))), order

    def _results(self, queries: list[Query]) -> list[QueryResult]:
        messages = any(query.legal.say for query in queries)

        def correct(prompt: str, result: QueryResult) -> str | None:
            return with_correction(prompt, result, messages=messages) if isinstance(result, Reason) else None

        return query_all(
            self.client, queries, self.read, correct, re_asks=self.re_asks, tally=self.tally, samples=self.samples
        )

    def read(self, query: Query, reply: ModelReply) -> QueryResult:
        """Parse the ``reply`` to ``query``, and count the result in ``tally``."""
        result = reply.failure or read_reply(reply.text, query.legal, finished=reply.finished, reading=self.reading)
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
    """An :class:`LLMPartner` with a local model, which also gives the exact probabilities of its acts.

    ``client`` is ``local`` itself, or a cache in front of it; ``options`` are those of :class:`LLMPartner`. All
    replies are legal, so that none is queried again.
    """

    def __init__(
        self,
        client: Client,
        local: LocalClient,
        template: Template | None = None,
        **options: Any,
    ) -> None:
        super().__init__(client, template, **{**options, "re_asks": 0})
        self.local = local

    @property
    def traits(self) -> Traits:
        """Traits without memory if the prompt shows at most the last act, as other variables hold the rest."""
        return replace(super().traits, memoryless=self.history_cap <= 1)

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``, rows summing to 1."""
        queries, order = self.queries(turns)
        distinct = list(dict.fromkeys(queries))
        scores = dict(zip(distinct, self.local.scores(distinct), strict=True))
        probs: Doubles = np.zeros((turns.size, action_count(max_count)))
        for row, query in enumerate(queries):
            actions = list(query.legal.actions())
            act = np.array([action.act_type for action in actions], dtype=np.int8)
            oA = np.array([action.oA for action in actions], dtype=np.int8)
            if order is not None:
                oA[:, order[row]] = oA.copy()
            probs[row, action_index(act, oA, max_count)] = scores[query]
        return probs
