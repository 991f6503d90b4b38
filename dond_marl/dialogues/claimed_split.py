"""The split of the pool that an utterance's claims come to, given the two latest claims, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from dond_marl.dialogues.clauses import (
    ALL,
    BARE,
    BOTH,
    EACH,
    EVERYTHING,
    HALF,
    ME,
    NOBODY,
    OTHERS,
    REST,
    YOU,
    Claims,
    Mention,
)  # fmt: skip
from dond_marl.errors import InputError
from dond_marl.game import Triple, rest

Half = list[int | None]  # what one side is said to get of each type, None where nothing is said


class Unclear(InputError):
    """Claims that come to no split, or to more than one. The message says why."""


class _DoesNotAddUp(Unclear):
    pass


def split_of(claims: Claims, counts: Triple, mine: Triple | None, theirs: Triple | None) -> Triple | None:
    """What the speaker would keep; ``None`` if nothing is claimed. Raises :class:`Unclear`.

    ``mine`` and ``theirs`` are the latest claims of the speaker and of the partner, ``None`` before the first.
    """
    mentions = _owned(claims, counts, mine, theirs)
    if claims.doubts:
        # A sentence after the doubtful ones stands for itself if it leaves nothing open.
        last = max(sentence for sentence, _ in claims.doubts)
        mentions = tuple(mention for mention in mentions if mention.sentence > last)
        if not _complete(mentions):
            raise Unclear(claims.doubts[0][1])
    if not mentions:
        return None
    if all(mention.kind == REST for mention in mentions):
        return _bare_rest(mentions, counts, mine, theirs)
    try:
        return _split(mentions, counts)
    except _DoesNotAddUp:  # a later sentence may correct an earlier one
        last = mentions[-1].sentence
        latest = tuple(mention for mention in mentions if mention.sentence == last)
        if len(latest) == len(mentions):
            raise
        return _split(latest, counts)


def fits(claims: Claims, counts: Triple, share: Triple) -> bool:
    """Whether nothing that is named contradicts the speaker's keeping ``share``."""
    for mention in claims.mentions:
        if mention.kind == EVERYTHING or (mention.kind == EACH and share != (1, 1, 1)):
            return False
        if mention.kind < EVERYTHING and mention.amount not in (OTHERS, HALF):
            count = counts[mention.kind]
            held = count - share[mention.kind] if mention.owner == YOU else share[mention.kind]
            named = {BARE: max(held, 1), ALL: count, BOTH: count}.get(mention.amount, mention.amount)
            if named != held:
                return False
    return True


def _owned(claims: Claims, counts: Triple, mine: Triple | None, theirs: Triple | None) -> tuple[Mention, ...]:
    """The mentions, those of nobody given to the side that they must be for."""
    if all(mention.owner != NOBODY for mention in claims.mentions):
        return claims.mentions
    named = {mention.owner for mention in claims.mentions} - {NOBODY}
    owner = YOU if named == {ME} else ME
    if not named and not any(mention.kind == REST for mention in claims.mentions):
        wanted = _split([mention._replace(owner=ME) for mention in claims.mentions], counts)
        if theirs is not None and all(a <= b for a, b in zip(wanted, theirs, strict=True)):
            owner = YOU  # part of what the partner asked for: "one hat" to "I want the hats"
        elif claims.suggests or (
            theirs is not None and mine is not None and _apart(wanted, theirs) < _apart(wanted, mine)
        ):
            raise Unclear("a list for nobody named")
    return tuple(mention._replace(owner=owner) if mention.owner == NOBODY else mention for mention in claims.mentions)


def _apart(first: Triple, second: Triple) -> int:
    return sum(abs(a - b) for a, b in zip(first, second, strict=True))


def _complete(mentions: Sequence[Mention]) -> bool:
    """Whether the mentions by themselves say what becomes of every type."""
    kinds = {mention.kind for mention in mentions}
    return (REST in kinds and len(kinds) > 1) or {0, 1, 2} <= kinds or bool(kinds & {EVERYTHING, EACH})


def _bare_rest(mentions: Sequence[Mention], counts: Triple, mine: Triple | None, theirs: Triple | None) -> Triple:
    """The rest of what the partner wants, or of what the speaker wants."""
    owners = {mention.owner for mention in mentions}
    base = theirs if owners == {ME} else mine
    if base is None or len(owners) > 1:
        raise Unclear("the rest of what")
    return rest(counts, base) if owners == {ME} else base


def _split(mentions: Sequence[Mention], counts: Triple) -> Triple:
    """What the speaker keeps if every mention holds."""
    got: tuple[Half, Half] = ([None, None, None], [None, None, None])
    rests = {mention.owner for mention in mentions if mention.kind == REST}
    named = {mention.owner for mention in mentions if mention.kind != REST}
    if len(rests) > 1:
        raise Unclear("the rest for both")
    for mention in mentions:
        if mention.kind == EVERYTHING and mention.amount == ALL and 1 - mention.owner in named:
            rests.add(mention.owner)  # "everything if I get the ball"
        elif mention.kind in (EVERYTHING, EACH):
            share = {ALL: counts, 0: (0, 0, 0), 1: (1, 1, 1)}[mention.amount]
            got[mention.owner][:] = share
        elif mention.kind != REST:
            got[mention.owner][mention.kind] = _amount(mention, counts, got[1 - mention.owner])
    kept = tuple(_kept(kind, counts[kind], got, rests, named) for kind in range(3))
    return kept[0], kept[1], kept[2]


def _amount(mention: Mention, counts: Triple, others: Half) -> int:
    count, amount = counts[mention.kind], mention.amount
    if amount == HALF:
        if count % 2:
            raise Unclear("half of an odd number")
        return count // 2
    if amount == OTHERS:
        other = others[mention.kind]
        if other is None:
            raise Unclear("the other ones of what")
        return count - other
    number = {ALL: count, BARE: 1, BOTH: min(count, 2)}.get(amount, amount)
    if number > count:
        raise Unclear("more than there is")
    return number


def _kept(kind: int, count: int, got: tuple[Half, Half], rests: set[int], named: set[int]) -> int:
    """What the speaker keeps of one type."""
    mine, yours = got[ME][kind], got[YOU][kind]
    if mine is not None and yours is not None and mine + yours != count:
        raise _DoesNotAddUp("does not add up")
    if mine is not None:
        return mine
    if yours is not None:
        return count - yours
    if rests:
        return count if ME in rests else 0
    if len(named) > 1 and count:
        raise Unclear("one type is nobody's")
    return count if named == {YOU} else 0
