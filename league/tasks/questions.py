"""What will be asked of whoever costs something to ask: how often, about how many tokens, at what price and how long.

Nobody is asked for these figures. A question is a decision of a language model or a person, a hint or a verdict; the
number is an estimate, the most of it a bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dond_marl.batch import Table
from dond_marl.game import Rules
from dond_marl.occupants import OccupantNameError, parse_spec, seat_occupant, spec_name
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Partner
from league.settings.training import HintsConfig
from league.tasks.hinters import llm_spec
from partners.llm.partner import LLMPartner

CHARACTERS = 2.7  # of a prompt to a token: 2,127 characters of an opening were about 780 tokens of a small model
REPLY = 32  # tokens of a legal reply, as measured: 29 to 34
JUDGE = "llm_judge"  # the reward that asks
LIMITS = (
    "max_requests",
    "max_total_tokens",
    "max_usd",
    "max_seconds",
)  # past them a fallback plays, or no more hints are given


class Questions(NamedTuple):
    """What is asked of one member, hinter or judge."""

    who: str
    what: str  # that they do
    games: int
    about: int  # questions
    most: int
    spec: str | None = None  # the occupant's
    hints: bool = False  # whether it gives hints

    @property
    def of_model(self) -> bool:
        """Whether a language model is asked that plays or gives hints: no person, and no judge."""
        return _model(self.spec) is not None

    @property
    def _then(self) -> str:
        """What happens once a limit is spent."""
        return "no more hints are given" if self.hints else "its fallback plays"

    def __str__(self) -> str:
        """One line."""
        most = "" if self.most <= self.about else f", at most {self.most:,}"
        line = f"asks {self.who}, {self.what}, about {self.about:,} questions in {self.games:,} games{most}"
        partner = _model(self.spec)
        if partner is None or self.spec is None:
            return f"{line}; at 1 second a question {lasting(self.about)}"
        tokens = prompt_tokens(partner)
        prompts, replies = tokens * self.about, REPLY * self.about
        options = parse_spec(self.spec)[1]
        cost = _dollars(prompts, replies, options)
        limits = [f"{name} {options[name]:,}" for name in LIMITS if options.get(name) is not None]
        bounded = (
            f"; where its {' or '.join(limits)} is spent (counted in each process), {self._then}" if limits else ""
        )
        again = f" (up to {1 + partner.re_asks} times where a reply is refused)" if partner.re_asks else ""
        return (
            f"{line}{again}; a prompt has about {tokens:,} tokens: {_large(prompts)} to read, {_large(replies)} to "
            f"write{cost}; at 1 second a question {lasting(self.about)}{bounded}"
        )


def hinter_spec(hints: HintsConfig) -> str:
    """The spec of the language model that hints of mode ``llm`` ask."""
    return spec_name({name: value for name, value in llm_spec(hints).items() if value is not None})


def hints_asked(hints: HintsConfig, games: int, decisions: int, what: str, spec: str) -> Questions:
    """What a language model is asked that gives ``hints`` in ``games`` of ``decisions`` of the hinted seat.

    One at every ``cadence_k``-th own decision, the first included; those that are withheld are not asked for.
    """
    kept, every = 1 - hints.dropout, hints.cadence_k
    about = max(decisions / every, min(games, decisions)) * kept
    most = decisions if every == 1 else decisions / every + games  # every game asks for its first
    return Questions(
        "a language model", what, games, round(about), math.ceil(max(most * kept, about)), spec, hints=True
    )


def lasting(seconds: float) -> str:
    """Seconds, minutes, hours or days."""
    for limit, unit, name in ((120, 1, "seconds"), (7200, 60, "minutes"), (172_800, 3600, "hours")):
        if seconds < limit:
            number = round(seconds / unit)
            return f"{number} {name.removesuffix('s') if number == 1 else name}"
    return f"{seconds / 86_400:.0f} days"


def prompt_tokens(partner: LLMPartner) -> int:
    """About how many tokens the prompt of an opening has; later ones are a little longer."""
    table = Table(open_source("lewis").block(0, 0, 1), Rules(), prior="lewis")
    (prompt,) = partner.template.render(table.turns(), partner.history_cap)
    return round(len(prompt) / CHARACTERS)


def _model(spec: str | None) -> LLMPartner | None:
    """The language model of a spec, unread and unasked; ``None`` where it is something else."""
    if spec is None:
        return None
    try:
        partner: Partner = seat_occupant(spec)
    except OccupantNameError:
        return None
    return partner if isinstance(partner, LLMPartner) else None


def _dollars(prompts: int, replies: int, options: dict[str, object]) -> str:
    prices = [options.get(name) for name in ("prompt_price", "completion_price")]
    if not any(prices):
        return ""
    first, second = (float(price) if isinstance(price, int | float) else 0.0 for price in prices)
    return f", about {(prompts * first + replies * second) / 1e6:,.2f} US dollars"


def _large(number: int) -> str:
    """A number in words, rounded where it is large."""
    if number >= 1_000_000:
        return f"{number / 1e6:,.1f} million"
    return f"{math.ceil(number / 1000):,} thousand" if number > 1_000 else f"{number:,}"
