"""A recorded game act by act: the state before each act, what is said in it, and what it comes to.

And the words, for the terminal and the page, of games that end with secret claims.
"""

from __future__ import annotations

from typing import NamedTuple

from dond_marl.game import Act, Action, Rules, State, apply, rest, worth
from dond_marl.records.record import GameRecord, replay
from dond_marl.records.transcript import in_words, unbound
from dond_marl.records.wording import in_english


class Step(NamedTuple):
    """The state before an act, and the act; ``None`` in the last step, when the game is over."""

    state: State
    action: Action | None
    words: str | None = None  # what a person typed for the act, where they did
    message: str = ""  # what was said beside it

    @property
    def number(self) -> int:
        """How many acts came before."""
        return len(self.state.history)


def steps(record: GameRecord) -> tuple[Step, ...]:
    """The game act by act.

    Raises :class:`~dond_marl.records.record.RecordError` where the acts do not lead to the recorded outcome.
    """
    state, acts = State(record.scenario, record.rules), []
    for turn, action in enumerate(record.actions):
        message = record.messages[turn] if record.messages else ""
        acts.append(Step(state, action, record.words[turn] if record.words else None, message))
        if len(acts) < len(record.actions):
            state = apply(state, action, message)
    return (*acts, Step(replay(record), None))


def said(step: Step) -> str:
    """What is said in a step, in words."""
    if step.action is None:
        return ""
    rules, counts = step.state.rules, step.state.scenario.counts
    plain = in_english(step.action, counts, variant=step.number, final=rules.disagree == "ends")
    return unbound(step.action, step.number, rules) or plain


def act_in_words(action: Action, state: State) -> str:
    """An act of the seat to move, and its worth to that seat in brackets."""
    act, seat = action.act_type, state.mover
    values, counts = state.scenario.utilities[seat], state.scenario.counts
    if act.is_offer:
        return f"{act.name} to keep {in_words(action.oA)} ({worth(values, action.oA)})"
    claim = state.claims[1 - seat]
    if act is Act.AGREE and claim is not None:
        left = rest(counts, claim)
        return f"AGREE to {in_words(left)} ({worth(values, left)})"
    return act.name


def protocol(rules: Rules) -> str:
    """How a game of secret claims goes, in plain words; empty where every act binds."""
    if not rules.secret_claims:
        return ""
    talk = rules.talk_turns
    first = "" if not talk else f"The first {f'{talk} acts are' if talk > 1 else 'act is'} talk that binds nobody. "
    return (
        f"{first}{'Then each' if talk else 'Each'} of you makes one secret claim, which the other does not see. If "
        f"both claims add up to exactly the pool, that is the deal; otherwise both get nothing."
    )


def claims_end(state: State) -> str:
    """What came of both secret claims, in a sentence without its full stop."""
    assert state.outcome is not None
    if state.outcome.deal:
        return "the secret claims fit"
    return "not both have claimed" if None in state.claims else "the secret claims do not add up to the pool"
