"""What people wrote, as coarse dialogue acts: PROPOSE, INSIST, AGREE, DISAGREE, END, or nothing that is certain.

The reduction of words to acts is that of Kwon et al. 2023 (arXiv 2303.00001, section 4.3), with rules of our own:

* Items belong to the person last named before them; what an offer does not name goes to the other side. An offer that
  names something of both sides and leaves a type out is unclear, and so is one with alternatives or bounds.
* A list without a person is what the speaker wants, unless it lies within what the partner asked for.
* An offer of the speaker's own latest split is INSIST, and so is one that says "I insist".
* A yes that names no other split than the one on the table is AGREE; a refusal that names no split is DISAGREE. A bare
  yes or no counts only as an answer to an act, not to any question.
* What cannot be read is marked, never guessed: ``action`` is ``None`` and ``why`` says the reason.

The words alone are read, with the pool and what was said before; nobody's values and no outcome are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dond_marl.dialogues.claimed_split import Unclear, fits, split_of
from dond_marl.dialogues.clauses import Claims, claims
from dond_marl.dialogues.words import Tone, ends, insists, tone
from dond_marl.game import Act, Action, Triple, rest
from dond_marl.scenarios.data import Dialogue

YOU_SAID, THEY_SAID = 0, 1  # speakers of a published dialogue: the one whose perspective the line is, and the partner


class Utterance(NamedTuple):
    """One turn of talk."""

    speaker: int  # 0 or 1; in a published dialogue YOU_SAID or THEY_SAID
    text: str


class Reading(NamedTuple):
    """One utterance as an act, or ``None``: then ``why`` says the reason, and ``unclear`` that it may have been one."""

    action: Action | None
    why: str = ""
    unclear: bool = False


class Said(NamedTuple):
    """What the talk has come to when a speaker opens their mouth."""

    mine: Triple | None = None  # the speaker's latest claim
    theirs: Triple | None = None  # the partner's
    answers: Act | None = None  # what the partner just said, if it was read


NOTHING_SAID = Said()


def read(text: str, counts: Triple, said: Said = NOTHING_SAID) -> Reading:
    """One utterance over the pool ``counts``, after what was ``said``."""
    if ends(text):
        return Reading(Action(Act.END))
    answer, mentioned = tone(text), claims(text)
    try:
        split = split_of(mentioned, counts, said.mine, said.theirs)
    except Unclear as doubt:
        if mentioned.names_items or abs(answer) < abs(Tone.ACCEPTS):
            return Reading(None, str(doubt), unclear=True)
        split = None  # "deal, both of us can be happy with it"
    if split is not None:
        if _takes(answer, split, mentioned, counts, said):
            return Reading(Action(Act.AGREE))
        repeats = split == said.mine or insists(text)
        return Reading(Action(Act.INSIST if repeats else Act.PROPOSE, split))
    return _answer(answer, mentioned.names_items, said.answers)


def annotate(talk: Iterable[Utterance], counts: Triple) -> tuple[Reading, ...]:
    """Every utterance of a negotiation over ``counts``, in order."""
    readings: list[Reading] = []
    latest: list[Triple | None] = [None, None]
    answers: Act | None = None
    for speaker, text in talk:
        reading = read(text, counts, Said(latest[speaker], latest[1 - speaker], answers))
        readings.append(reading)
        answers = None if reading.action is None else reading.action.act_type
        if reading.action is not None and reading.action.act_type.is_offer:
            latest[speaker] = reading.action.oA
    return tuple(readings)


def utterances(dialogue: Dialogue) -> tuple[Utterance, ...]:
    """The turns of a published dialogue; the last is the bare ``<selection>`` of who ended the talk."""
    turns: list[tuple[int, list[str]]] = []
    for word in dialogue.words:
        if word in ("YOU:", "THEM:"):
            turns.append((YOU_SAID if word == "YOU:" else THEY_SAID, []))
        elif word != "<eos>":
            turns[-1][1].append(word)
    return tuple(Utterance(speaker, " ".join(words)) for speaker, words in turns)


def on_the_table(talk: Sequence[Utterance], readings: Sequence[Reading], counts: Triple) -> Triple | None:
    """What speaker 0 keeps by the last proposal on the table; ``None`` if there is none, or it is not certain.

    A refusal takes the partner's proposal off the table and leaves the speaker's own; AGREE puts the partner's back. An
    unclear utterance makes the table uncertain until the next proposal.
    """
    standing: list[Triple | None] = [None, None]
    owner: int | None = None
    certain = agreed = False
    for (speaker, _), reading in zip(talk, readings, strict=True):
        act = None if reading.action is None else reading.action.act_type
        if reading.action is None:
            certain = certain and not reading.unclear
        elif reading.action.act_type.is_offer:
            standing[speaker], owner, certain, agreed = reading.action.oA, speaker, True, False
        elif act is Act.DISAGREE:
            standing[1 - speaker] = None
            owner = speaker if standing[speaker] is not None else None
        elif act is Act.AGREE and standing[1 - speaker] is not None and not agreed:
            owner, agreed = 1 - speaker, True
    kept = standing[owner] if owner is not None else None
    if kept is None or not certain:
        return None
    return kept if owner == 0 else rest(counts, kept)


def _takes(answer: Tone, split: Triple, mentioned: Claims, counts: Triple, said: Said) -> bool:
    """Whether an utterance that names items only says yes to what is on the table."""
    if said.theirs is not None:
        offered = rest(counts, said.theirs)
        if (answer >= Tone.YES and split == offered) or (answer is Tone.ACCEPTS and fits(mentioned, counts, offered)):
            return True
    return said.answers is Act.AGREE and said.mine is not None and fits(mentioned, counts, said.mine)


def _answer(answer: Tone, names_items: bool, answers: Act | None) -> Reading:
    """An utterance that claims nothing: a yes, a no, or talk."""
    if answer is Tone.ACCEPTS or (answer is Tone.YES and answers in (Act.PROPOSE, Act.INSIST, Act.AGREE)):
        return Reading(Action(Act.AGREE))
    if answer is Tone.REFUSES or (answer is Tone.NO and answers in (Act.PROPOSE, Act.INSIST, Act.DISAGREE)):
        return Reading(Action(Act.DISAGREE))
    if answer is Tone.YES:
        return Reading(None, "a yes to no act that was read", unclear=True)
    if answer is Tone.NO:
        return Reading(None, "a no to no act that was read", unclear=names_items)
    return Reading(None, "speaks of items and claims none" if names_items else "no act", unclear=names_items)
