"""A prompt read back: the negotiation that a template's text tells of, as its seat sees it.

The reading is the template itself, turned into a pattern, so that the words stand in one place. What a prompt does not
tell, the partner's values where they are hidden, is zeros, as the seat sees them. Messages are read back too; games
with secret claims are not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dond_marl.errors import InputError, quote
from dond_marl.game import Act, Action, IllegalAct, Rules, Scenario, State, Triple, apply, rest
from partners.llm.prompt import (
    HIDDEN,
    NONE_YET,
    SHIPPED,
    VARIABLES,
    Template,
    disagree_rule,
    load_template,
    parse_variant,
)

_TRIPLE = r"\d{1,2}(?:,\d{1,2}){2}"
_RULES = {disagree_rule(rules): rules.disagree for rules in (Rules(), Rules(disagree="rejects"))}
_PATTERNS = {
    "counts_csv": _TRIPLE,
    "my_utils_csv": _TRIPLE,
    "last_partner_act_token": "[A-Z]{3,9}",
    "last_offer_csv": f"{NONE_YET}|{_TRIPLE}",
    "turns": r"\d{1,3}",
    "p": f"{HIDDEN}|{_TRIPLE}",
    "history_str": r'(?:[^"{}]|"(?:[^"\\\n]|\\.)*"){1,10000}?',  # a quoted message may hold braces, and counts as one
    "max_turns": r"\d{1,3}",
    "disagree_rule": "|".join(map(re.escape, _RULES)),
    "whole": r"\d{1,4}",
    "offer_points": rf"{NONE_YET}|\d{{1,4}}",
    "legal_acts": "[0-9A-Z, ]{1,80}",
}
assert set(_PATTERNS) == set(VARIABLES)
_NEEDED = ("counts_csv", "my_utils_csv", "max_turns", "disagree_rule", "history_str")
_LINE = re.compile(
    rf"(?P<turn>\d{{1,3}})\. (?P<who>you|partner): (?P<act>{'|'.join(act.name for act in Act)})"
    rf"(?:, (?:you keep|partner keeps) (?P<keeps>{_TRIPLE}), (?:partner gets|you get) (?P<gets>{_TRIPLE}))?"
    r'(?:, and said: (?P<said>"(?:[^"\\]|\\.)*"))?'
)
_NOTHING_YET = "(nothing yet)"


class UnreadPrompt(InputError):
    """A text that holds no prompt of ours, or one that tells of no game."""


@dataclass(frozen=True, slots=True)
class PromptPosition:
    """What a prompt tells: the state, with zeros for values that its seat does not see, and whether they are shown."""

    state: State
    revealed: bool


def read_prompt(text: str, templates: Sequence[Template] | None = None) -> PromptPosition:
    """The position that the last prompt in ``text`` tells, written by one of ``templates``, by default the shipped.

    Raises :class:`UnreadPrompt`.
    """
    for template in _shipped() if templates is None else templates:
        if found := list(_pattern(template).finditer(text)):
            return _position(found[-1].groupdict(), text[found[-1].end() :])
    raise UnreadPrompt(
        "no message holds a prompt of this game: the last of the user must be the text of configs/llm_prompt.txt or "
        f"configs/llm_prompt_short.txt, filled in for a position; got {quote(text)}"
    )


def _shipped() -> list[Template]:
    templates = [load_template(shipped=name) for name in SHIPPED]
    return [template for template in templates if all(f"{{{name}}}" in template.text for name in _NEEDED)]


def _pattern(template: Template) -> re.Pattern[str]:
    """What ``template`` writes; each variable in a group of its name. Raises :class:`UnreadPrompt`."""
    parts = re.split(rf"\{{({'|'.join(VARIABLES)})\}}", template.text.strip())
    lacking = set(_NEEDED) - set(parts[1::2])
    if lacking:
        raise UnreadPrompt(f"{template.source} cannot be read back: it lacks {', '.join(sorted(lacking))}")
    made, known = "", set[str]()
    for place, part in enumerate(parts):
        if place % 2 == 0:
            made += re.escape(part)
        else:
            made += f"(?P={part})" if part in known else f"(?P<{part}>{_PATTERNS[part]})"
            known.add(part)
    return re.compile(made)  # Python keeps the last few hundred


def _position(said: dict[str, str], after: str) -> PromptPosition:
    length, secret = parse_variant(after)
    if secret:
        raise UnreadPrompt("a game with secret claims is not read back: nobody is served in one")
    try:
        rules = Rules(int(said["max_turns"]), _RULES[said["disagree_rule"]], length)
        actions = _actions(said["history_str"], counts := _triple(said["counts_csv"]))
        hidden = said.get("p", HIDDEN) == HIDDEN
        mine, theirs = _triple(said["my_utils_csv"]), (0, 0, 0) if hidden else _triple(said["p"])
        state = State(Scenario(counts, (mine, theirs) if len(actions) % 2 == 0 else (theirs, mine)), rules)
        for action, message in actions:
            state = apply(state, action, message)
    except (IllegalAct, ValueError) as error:
        raise UnreadPrompt(f"the prompt tells of no game: {error}") from None
    if state.over or said.get("turns", str(state.turns_remaining)) != str(state.turns_remaining):
        raise UnreadPrompt("the prompt tells of no open game: its turns and its acts do not fit")
    return PromptPosition(state, not hidden)


def _actions(history: str, counts: Triple) -> list[tuple[Action, str]]:
    """What was said, act by act, with the message beside it. Raises ``ValueError``."""
    if history == _NOTHING_YET:
        return []
    lines = history.split("\n")
    actions = []
    for number, line in enumerate(lines):
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"{quote(line)} is no act; the prompt must show them all, so give it a longer history")
        who = "you" if number % 2 == len(lines) % 2 else "partner"  # the seat to move is the next
        act, keeps = Act[found["act"]], _triple(found["keeps"] or "0,0,0")
        fits = found["keeps"] is None or rest(counts, keeps) == _triple(found["gets"])
        if int(found["turn"]) != number + 1 or found["who"] != who or act.is_offer != bool(found["keeps"]) or not fits:
            raise ValueError(f"{quote(line)} cannot be act {number + 1} of {len(lines)}")
        actions.append((Action(act, keeps), json.loads(found["said"] or '""')))
    return actions


def _triple(text: str) -> Triple:
    a, b, c = map(int, text.split(","))
    return a, b, c
