"""Prompts in batches that fit the memory; what many of them begin with is read once and kept.

A prompt of the shipped template has the same first hundreds of tokens in every position. Only tokens decide: a prompt
whose tokens, taken as a whole, do not begin with those that were kept is read from its start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from partners.llm.client import SetupError
from partners.llm.local.memory import Plan, batches, sizes
from partners.llm.local.model import LocalModel
from partners.llm.local.reading import KeyValueState, allows_gaps, shares

_WORTH_KEEPING = 32  # tokens: a shorter beginning is read again with each prompt
_SHARE = 4  # of the memory, the part that beginnings may take is one in so many


class Batch(NamedTuple):
    """Prompts that are read together."""

    rows: list[int]
    plan: Plan
    begun: KeyValueState | None  # what they all begin with

    def rest(self, prompts: Sequence[list[int]]) -> list[list[int]]:
        """What is left to read of each of its prompts."""
        return [prompts[row][self.plan.prefix :] for row in self.rows]


class Beginnings:
    """The beginnings of prompts that ``read`` keeps in ``memory_mb`` megabytes, which its batches fit too."""

    def __init__(self, read: LocalModel, openings: Sequence[str], memory_mb: int, tally: Counter[str]) -> None:
        model = read.model
        self._read, self._tally, self._memory_mb = read, tally, memory_mb
        of = sizes(model.config.get_text_config(), model.dtype.itemsize)
        self._plan = Plan(of, memory_mb << 20, shares(model))
        self._kept: dict[tuple[int, ...], KeyValueState | None] = {}  # None until it is needed
        for tokens in read.beginnings(openings) if self._plan.shared else ():
            fits = self._plan.prompts(1, len(tokens), 0) <= self._plan.bytes
            if fits and len(tokens) >= _WORTH_KEEPING and len(tokens) * of.token <= self._plan.bytes / _SHARE:
                self._kept[tuple(tokens)] = None

    def batches(
        self, prompts: Sequence[list[int]], longest: Sequence[int], most: int, *, scored: bool = False
    ) -> list[Batch]:
        """At most ``most`` prompts each; ``longest``: tokens of the longest line of each prompt.

        ``scored``: all lines are followed, not one. Raises :class:`SetupError` where one alone does not fit.
        """
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, prompt in enumerate(prompts):
            groups.setdefault(self._beginning_of(prompt, longest[row]), []).append(row)
        made = []
        for begun, rows in groups.items():
            reading = self._reading(begun)
            plan = self._plan_after(begun)
            left = [len(prompts[row]) - len(begun) for row in rows]
            lines = [longest[row] for row in rows]
            self._check_fit(plan, max(left), max(lines), scored)
            made += [
                Batch([rows[place] for place in places], plan, reading)
                for places in batches(plan, left, lines, most, scored)
            ]
        return made

    def _beginning_of(self, prompt: list[int], line: int) -> tuple[int, ...]:
        """The kept beginning of ``prompt``, empty if it has none or must be read without a gap."""
        if not self._kept or not allows_gaps(self._read.model, len(prompt) + line):
            return ()
        own = [begun for begun in self._kept if len(prompt) > len(begun) and tuple(prompt[: len(begun)]) == begun]
        return max(own, key=len, default=())

    def _reading(self, begun: tuple[int, ...]) -> KeyValueState | None:
        if begun and self._kept[begun] is None:
            reading = KeyValueState(self._read.model)
            reading.go_on([begun])
            self._tally["read_tokens"] += reading.tokens
            self._kept[begun] = reading
        return self._kept[begun] if begun else None

    def _plan_after(self, begun: tuple[int, ...]) -> Plan:
        """The plan of prompts that begin so: less memory by what is kept for others."""
        others = sum(len(tokens) for tokens, reading in self._kept.items() if reading is not None and tokens != begun)
        left = self._plan.bytes - others * self._plan.sizes.token
        return self._plan._replace(bytes=left, prefix=len(begun))

    def _check_fit(self, plan: Plan, prompt: int, line: int, scored: bool) -> None:
        if not plan.fits(1, prompt, line, scored=scored):
            raise SetupError(
                f"the model {self._read.source} needs about {plan.needs(prompt, line, scored=scored):,} MB to read a "
                f"prompt, and memory_mb is {self._memory_mb:,}: raise it, or use a shorter prompt or another model"
            )
