"""The annotator: reads utterances of people as dialogue acts (PROPOSE, INSIST, AGREE, DISAGREE, END), or as no act.

The reduction of words to acts is that of Kwon et al. 2023 (arXiv 2303.00001, section 4.3), with rules of our own:

* Items belong to the person last named before them; items that an offer does not name go to the other side. An offer
  that names items for both sides and leaves a type out is unclear, and so is one with alternatives or bounds.
* A list without a person is for the speaker, unless it lies within the partner's claim.
* An offer of the speaker's own latest split is INSIST, and so is one with the words "I insist".
* A yes that names no other split than the one on the table is AGREE; a refusal that names no split is DISAGREE. A bare
  yes or no counts only as an answer to an act, not to any question.
* Unreadable utterances are marked, never guessed: ``action`` is ``None`` and ``reason`` says why.

Input is the text, the pool and the earlier utterances only; values and outcomes are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dond_marl.dialogues.clauses import (
    ALL,
    BARE,
    BOTH,
    EVERYTHING,
    HALF,
    ME,
    NO_ONE,
    ONE_OF_EACH,
    OTHER_ONES,
    REST,
    YOU,
    Claims,
    Mention,
    claims,
)
from dond_marl.dialogues.words import Tone, ends, insists, tone
from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Triple, rest
from dond_marl.scenarios.data import Dialogue

OWN_SIDE, PARTNER_SIDE = 0, 1  # speakers of a published dialogue: whose perspective the line is, and the partner


class Utterance(NamedTuple):
    """One turn of talk."""

    speaker: int  # 0 or 1; in a published dialogue OWN_SIDE or PARTNER_SIDE
    text: str


class ActReading(NamedTuple):
    """One utterance as an act, or ``None`` with the ``reason``; ``unclear``: it may have been an act."""

    action: Action | None
    reason: str = ""
    unclear: bool = False


class TalkState(NamedTuple):
    """The state of the dialogue before an utterance."""

    speaker_claim: Triple | None = None  # the speaker's latest claim
    partner_claim: Triple | None = None  # the partner's latest claim
    answers: Act | None = None  # the partner's latest utterance as an act, if it was read


NO_TALK = TalkState()


def read_utterance(text: str, counts: Triple, context: TalkState = NO_TALK) -> ActReading:
    """The act of one utterance over the pool ``counts``, given the state of the dialogue before it."""
    if ends(text):
        return ActReading(Action(Act.END))
    answer, mentioned = tone(text), claims(text)
    try:
        split = split_of(mentioned, counts, context.speaker_claim, context.partner_claim)
    except Unclear as doubt:
        if mentioned.names_items or abs(answer) < abs(Tone.ACCEPTS):
            return ActReading(None, str(doubt), unclear=True)
        split = None  # "deal, both of us can be happy with it"
    if split is not None:
        if _takes(answer, split, mentioned, counts, context):
            return ActReading(Action(Act.AGREE))
        repeats = split == context.speaker_claim or insists(text)
        return ActReading(Action(Act.INSIST if repeats else Act.PROPOSE, split))
    return _answer(answer, mentioned.names_items, context.answers)


def annotate(talk: Iterable[Utterance], counts: Triple) -> tuple[ActReading, ...]:
    """Every utterance of a negotiation over ``counts``, in order."""
    readings: list[ActReading] = []
    latest: list[Triple | None] = [None, None]
    answers: Act | None = None
    for speaker, text in talk:
        reading = read_utterance(text, counts, TalkState(latest[speaker], latest[1 - speaker], answers))
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
            turns.append((OWN_SIDE if word == "YOU:" else PARTNER_SIDE, []))
        elif word != "<eos>":
            turns[-1][1].append(word)
    return tuple(Utterance(speaker, " ".join(words)) for speaker, words in turns)


def _takes(answer: Tone, split: Triple, mentioned: Claims, counts: Triple, context: TalkState) -> bool:
    """Whether an utterance that names items only accepts the offer on the table."""
    if context.partner_claim is not None:
        offered = rest(counts, context.partner_claim)
        if (answer >= Tone.YES and split == offered) or (answer is Tone.ACCEPTS and fits(mentioned, counts, offered)):
            return True
    return (
        context.answers is Act.AGREE
        and context.speaker_claim is not None
        and fits(mentioned, counts, context.speaker_claim)
    )


def _answer(answer: Tone, names_items: bool, answers: Act | None) -> ActReading:
    """The act of an utterance without a claim: a yes, a no, or no act."""
    if answer is Tone.ACCEPTS or (answer is Tone.YES and answers in (Act.PROPOSE, Act.INSIST, Act.AGREE)):
        return ActReading(Action(Act.AGREE))
    if answer is Tone.REFUSES or (answer is Tone.NO and answers in (Act.PROPOSE, Act.INSIST, Act.DISAGREE)):
        return ActReading(Action(Act.DISAGREE))
    if answer is Tone.YES:
        return ActReading(None, "a yes to no act that was read", unclear=True)
    if answer is Tone.NO:
        return ActReading(None, "a no to no act that was read", unclear=names_items)
    return ActReading(None, "speaks of items and claims none" if names_items else "no act", unclear=names_items)


Half = list[int | None]  # the items of one side by type, None where the utterance names none


class Unclear(InputError):
    """Claims that describe no split, or more than one. The message gives the reason."""


class _DoesNotAddUp(Unclear):
    pass


def split_of(
    mentioned: Claims, counts: Triple, speaker_claim: Triple | None, partner_claim: Triple | None
) -> Triple | None:
    """The items that the speaker would keep; ``None`` without a claim. Raises :class:`Unclear`.

    ``speaker_claim`` and ``partner_claim`` are the latest claims of both, ``None`` before the first.
    """
    mentions = _assign_owners(mentioned, counts, speaker_claim, partner_claim)
    if mentioned.doubts:
        # A sentence after the doubtful ones stands for itself if it leaves nothing open.
        last = max(sentence for sentence, _ in mentioned.doubts)
        mentions = tuple(mention for mention in mentions if mention.sentence > last)
        if not _complete(mentions):
            raise Unclear(mentioned.doubts[0][1])
    if not mentions:
        return None
    if all(mention.kind == REST for mention in mentions):
        return _bare_rest(mentions, counts, speaker_claim, partner_claim)
    try:
        return _split(mentions, counts)
    except _DoesNotAddUp:  # a later sentence may correct an earlier one
        last = mentions[-1].sentence
        latest = tuple(mention for mention in mentions if mention.sentence == last)
        if len(latest) == len(mentions):
            raise
        return _split(latest, counts)


def fits(mentioned: Claims, counts: Triple, share: Triple) -> bool:
    """Whether all named items are consistent with the speaker keeping ``share``."""
    for mention in mentioned.mentions:
        if mention.kind == EVERYTHING or (mention.kind == ONE_OF_EACH and share != (1, 1, 1)):
            return False
        if mention.kind < EVERYTHING and mention.amount not in (OTHER_ONES, HALF):
            count = counts[mention.kind]
            held = count - share[mention.kind] if mention.owner == YOU else share[mention.kind]
            amount = {BARE: max(held, 1), ALL: count, BOTH: count}.get(mention.amount, mention.amount)
            if amount != held:
                return False
    return True


def _assign_owners(
    mentioned: Claims, counts: Triple, speaker_claim: Triple | None, partner_claim: Triple | None
) -> tuple[Mention, ...]:
    """The mentions with an owner each: mentions without a person are assigned to the side that they must be for."""
    if all(mention.owner != NO_ONE for mention in mentioned.mentions):
        return mentioned.mentions
    named = {mention.owner for mention in mentioned.mentions} - {NO_ONE}
    owner = YOU if named == {ME} else ME
    if not named and not any(mention.kind == REST for mention in mentioned.mentions):
        request = _split([mention._replace(owner=ME) for mention in mentioned.mentions], counts)
        if partner_claim is not None and all(a <= b for a, b in zip(request, partner_claim, strict=True)):
            owner = YOU  # part of the partner's claim: "one hat" as the answer to "I want the hats"
        elif mentioned.suggests or (
            partner_claim and speaker_claim and _apart(request, partner_claim) < _apart(request, speaker_claim)
        ):
            raise Unclear("a list without a person")
    return tuple(
        mention._replace(owner=owner) if mention.owner == NO_ONE else mention for mention in mentioned.mentions
    )


def _apart(first: Triple, second: Triple) -> int:
    return sum(abs(a - b) for a, b in zip(first, second, strict=True))


def _complete(mentions: Sequence[Mention]) -> bool:
    kinds = {mention.kind for mention in mentions}
    return (REST in kinds and len(kinds) > 1) or {0, 1, 2} <= kinds or bool(kinds & {EVERYTHING, ONE_OF_EACH})


def _bare_rest(
    mentions: Sequence[Mention], counts: Triple, speaker_claim: Triple | None, partner_claim: Triple | None
) -> Triple:
    """The split of a bare "the rest": what the partner's claim leaves, or what the speaker's claim leaves."""
    owners = {mention.owner for mention in mentions}
    base = partner_claim if owners == {ME} else speaker_claim
    if base is None or len(owners) > 1:
        raise Unclear("the rest of what")
    return rest(counts, base) if owners == {ME} else base


def _split(mentions: Sequence[Mention], counts: Triple) -> Triple:
    """The items that the speaker keeps if every mention holds."""
    got: tuple[Half, Half] = ([None, None, None], [None, None, None])
    rests = {mention.owner for mention in mentions if mention.kind == REST}
    named = {mention.owner for mention in mentions if mention.kind != REST}
    if len(rests) > 1:
        raise Unclear("the rest for both")
    for mention in mentions:
        if mention.kind == EVERYTHING and mention.amount == ALL and 1 - mention.owner in named:
            rests.add(mention.owner)  # "everything if I get the ball"
        elif mention.kind in (EVERYTHING, ONE_OF_EACH):
            share = {ALL: counts, 0: (0, 0, 0), 1: (1, 1, 1)}[mention.amount]
            got[mention.owner][:] = share
        elif mention.kind != REST:
            got[mention.owner][mention.kind] = _amount(mention, counts, got[1 - mention.owner])
    oA = tuple(_speaker_amount(kind, counts[kind], got, rests, named) for kind in range(3))
    return oA[0], oA[1], oA[2]


def _amount(mention: Mention, counts: Triple, other_side: Half) -> int:
    count, amount = counts[mention.kind], mention.amount
    if amount == HALF:
        if count % 2:
            raise Unclear("half of an odd number")
        return count // 2
    if amount == OTHER_ONES:
        other = other_side[mention.kind]
        if other is None:
            raise Unclear("the other ones of what")
        return count - other
    number = {ALL: count, BARE: 1, BOTH: min(count, 2)}.get(amount, amount)
    if number > count:
        raise Unclear("more than there is")
    return number


def _speaker_amount(kind: int, count: int, got: tuple[Half, Half], rests: set[int], named: set[int]) -> int:
    speaker_amount, partner_amount = got[ME][kind], got[YOU][kind]
    if speaker_amount is not None and partner_amount is not None and speaker_amount + partner_amount != count:
        raise _DoesNotAddUp("does not add up")
    if speaker_amount is not None:
        return speaker_amount
    if partner_amount is not None:
        return count - partner_amount
    if rests:
        return count if ME in rests else 0
    if len(named) > 1 and count:
        raise Unclear("one type has no owner")
    return count if named == {YOU} else 0
