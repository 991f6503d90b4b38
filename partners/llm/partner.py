"""A language model in a seat: asks for all games of a turn at once, and never says what is not legal.

A reply that cannot be read is asked for again a few times; then, as where the model could not be reached or paid for, a
stated fallback plays, and every decision says which of those it was.

Source: specification, section 2.2 (strict parsing, legality checks, failed answers).
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, get_args

import numpy as np

from dond_marl.game import Act
from dond_marl.seats import Cause, Decisions, Int8s, Partner, Traits, Turns, constant, decide
from partners.llm.client import Ask, Client, Failure, Reply
from partners.llm.prompt import HISTORY_CAP, Template, load_template, nudged
from partners.llm.reply import Reason, Said, legal_rows, read_reply
from partners.parameters import check_whole_number
from partners.scripted.greedy import Heuristic

Fallback = Literal["greedy", "end", "forfeit"]
_SAMPLE_NOISE = 4  # which of the turn's uniforms draws the sample


class End:
    """ENDs the talk: the latest claims decide."""

    traits = Traits(deterministic=True, memoryless=True)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row."""
        return decide(constant(Act.END, np.int8, turns.size), constant(0, np.int8, turns.size, 3))


class Forfeit:
    """Gives the game up: DISAGREE where that ends it without a deal, otherwise END, and a deal if the claims fit."""

    traits = Traits(deterministic=True, memoryless=True)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row."""
        act = Act.DISAGREE if turns.rules.disagree == "ends" else Act.END
        return decide(constant(act, np.int8, turns.size), constant(0, np.int8, turns.size, 3))


FALLBACKS: dict[Fallback, Partner] = {"greedy": Heuristic(), "end": End(), "forfeit": Forfeit()}


class LLMPartner:
    """Plays what ``client``'s model answers to ``template``, by default the shipped prompt.

    ``history_cap``: acts of the history that are told. ``re_asks``: how often a reply that was refused is asked for
    again, with what was wrong about it. ``fallback``: who plays where no legal reply came: ``greedy`` (the default
    heuristic), ``end`` or ``forfeit``. ``samples``: answers that are told apart for one prompt; with 1, games in the
    same position get the same answer, and one question serves them all.

    ``tally`` counts ``decisions``, ``free`` ones, ``re_asked``, ``rejected_<reason>`` (replies refused),
    ``failed_<failure>`` (asks without a reply) and ``fallback_<cause>`` (decisions that the fallback made).

    Raises ``ValueError`` for settings that do not exist.
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
    ) -> None:
        check_whole_number("history_cap", history_cap, 0, 100)
        check_whole_number("re_asks", re_asks, 0, 10)
        check_whole_number("samples", samples, 1, 10**6)
        if fallback not in FALLBACKS:
            raise ValueError(f"fallback must be one of {', '.join(get_args(Fallback))}; got {fallback!r}")
        self.client = client
        self.template = load_template() if template is None else template
        self.history_cap, self.re_asks, self.fallback, self.samples = history_cap, re_asks, fallback, samples
        self.tally: Counter[str] = Counter()

    @property
    def traits(self) -> Traits:
        """It gambles only over which sample it gets, and reads the whole history."""
        return Traits(deterministic=self.samples == 1, learned=True, remote=self.client.remote)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row, each legal. Raises what the client raises: what only a person can mend."""
        said: list[Said | Cause] = self._said(turns) if turns.size else []
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        confidence, cause = np.zeros(turns.size, dtype=np.float32), np.zeros(turns.size, dtype=np.int8)
        for row, answer in enumerate(said):
            if isinstance(answer, Cause):
                cause[row] = answer
            else:
                act[row], oA[row] = answer.action
                confidence[row] = answer.confidence
        fallen = np.flatnonzero(cause)
        if len(fallen):
            stated = FALLBACKS[self.fallback].act(turns.rows(fallen))
            act[fallen], oA[fallen], confidence[fallen] = stated.act_type, stated.oA, stated.confidence
        self._count(cause)
        return Decisions(act, oA, confidence, cause)

    def _said(self, turns: Turns) -> list[Said | Cause]:
        """What the model says in each row, or why it says nothing legal."""
        prompts, legal = self.template.render(turns, self.history_cap), legal_rows(turns)
        samples = np.zeros(turns.size) if self.samples == 1 else turns.noise[:, _SAMPLE_NOISE] * self.samples
        said: list[Said | Cause] = []
        asks = [Ask(*row) for row in zip(prompts, legal, samples.astype(int).tolist(), strict=True)]
        refused: dict[int, Reason] = {}
        for row, answer in enumerate(self._asked(asks)):
            said.append(self._outcome(answer, row, refused))
        for tries in range(1, 1 + self.re_asks):
            if not refused:
                break
            self.tally["re_asked"] += len(refused)
            rows, reasons = list(refused), list(refused.values())
            once_more = [  # as a sample of its own: the same question would get the same answer
                asks[row]._replace(prompt=nudged(prompts[row], why), sample=asks[row].sample + tries * self.samples)
                for row, why in zip(rows, reasons, strict=True)
            ]
            refused = {}
            for row, answer in zip(rows, self._asked(once_more), strict=True):
                said[row] = self._outcome(answer, row, refused)
        return said

    def _asked(self, asks: list[Ask]) -> list[Said | Reason | Failure]:
        """What came of each ask; equal asks are made once."""
        once = list(dict.fromkeys(asks))
        replies: dict[Ask, Reply] = dict(zip(once, self.client.complete(once), strict=True))
        found: list[Said | Reason | Failure] = []
        for ask in asks:
            reply = replies[ask]
            found.append(reply.failure or read_reply(reply.text, ask.legal, finished=reply.finished))
        return found

    def _outcome(self, answer: Said | Reason | Failure, row: int, refused: dict[int, Reason]) -> Said | Cause:
        """A legal reply, or the cause to state; counts it, and notes the rows that may be asked again."""
        if isinstance(answer, Said):
            return answer
        if isinstance(answer, Failure):
            self.tally[f"failed_{answer}"] += 1
            return Cause.BUDGET if answer is Failure.BUDGET else Cause.UNREACHABLE
        self.tally[f"rejected_{answer}"] += 1
        refused[row] = answer
        return Cause.ILLEGAL if answer is Reason.ILLEGAL else Cause.UNPARSABLE

    def _count(self, cause: Int8s) -> None:
        self.tally["decisions"] += len(cause)
        for number, times in enumerate(np.bincount(cause, minlength=len(Cause)).tolist()):
            if times:
                name = Cause(number).name.lower()
                self.tally[name if number == Cause.FREE else f"fallback_{name}"] += times
