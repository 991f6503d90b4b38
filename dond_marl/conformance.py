"""Conformance tests of partners by playing them: for the built-in catalogue and for your own partners.

``check_partner(MyPartner())`` queries it at positions of every rule variant, reached by its own play and by random
play; :func:`check_in_another_process` repeats the queries in a fresh interpreter. Remote and human partners are exempt
from purity, privileged ones from not depending on the other seat's values.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import GameBatch
from dond_marl.envs.turn import DECISIONS
from dond_marl.errors import Blame, InputError, quote
from dond_marl.game import MAX_COUNT, Act, Rules, as_integer, rule_against_message
from dond_marl.randomness import NOISE_WIDTH, generator
from dond_marl.rollout import Noise, observe_turns
from dond_marl.scenarios.sources import LEWIS_MAX_COUNT, Scenarios, open_source
from dond_marl.seats import Cause, Decisions, History, Partner, Traits, Turns, decide, expensive_to_query, partner_name

VARIANTS = (  # rules, whether the partner's values are revealed
    (Rules(1), False),
    (Rules(2, "rejects"), True),
    (Rules(5, "rejects"), False),
    (Rules(10), False),
    (Rules(100, "rejects"), False),
)
SOURCES = ("uniform", "lewis", "by_hand")
_EARLY, _LATE = 10, 2  # the first and last turns of a long game that are checked
QUERIES = 11  # of one position at most: of all its games, once for what each declaration must not change
_SAME = 1e-5  # tolerance for the confidences of networks in batches of other sizes


class CheckedPosition(NamedTuple):
    """A batch of turns at which a partner is queried."""

    where: str  # source, rules and turn, for messages
    turns: Turns
    hidden: Turns  # the same turns, but the other seat has other values: the answer must not change


def check_partner(
    partner: Partner,
    *,
    max_count: int = MAX_COUNT,
    games: int | None = None,
    sources: tuple[str, ...] = SOURCES,
    variants: Sequence[tuple[Rules, bool]] = VARIANTS,
    report: Callable[[str], object] = print,
) -> None:
    """Check ``partner`` in ``games`` games of each kind, with at most ``max_count`` items of a type.

    ``games``: by default 4, or 1 where answers are expensive. ``sources`` and ``variants`` (rules, and whether values
    are revealed) restrict the kinds to those that it supports. ``report`` gets the number of decisions, and the result.
    Raises :class:`AssertionError` naming the first violation and its position, and ``ValueError`` for other ``games``.
    """
    _check_kind(partner)
    exempt = partner.traits.remote or partner.traits.human
    number = 4 - 3 * expensive_to_query(partner.traits) if games is None else as_integer(games)
    if number is None or number < 1:
        raise InputError(f"games must be a whole number of at least 1, or None; got {quote(games)}")
    kinds = len(sources) - ("lewis" in sources and max_count < LEWIS_MAX_COUNT)
    reached = kinds * number * sum(min(rules.max_turns, _EARLY + _LATE) for rules, _ in variants)
    report(f"{partner_name(partner)} is asked for {reached * (1 if exempt else QUERIES):,} decisions at most")
    copy = partner if exempt else _copy_by_pickling(partner)
    rng = generator(0, "conformance")
    for position in positions(partner, max_count=max_count, games=number, sources=sources, variants=variants):
        decisions = _ask(partner, position.where, position.turns)
        if not exempt:
            _check_pure(partner, position, decisions, rng)
            copied = _ask(copy, position.where, position.turns)
            _expect_same(partner, position.where, decisions, copied, "after pickling")
    report(f"{partner_name(partner)} passes all checks")


def check_in_another_process(
    partners: Mapping[str, Partner],
    *,
    games: int = 8,
    sources: tuple[str, ...] = SOURCES,
    variants: Sequence[tuple[Rules, bool]] = VARIANTS,
) -> None:
    """Check that each of ``partners`` gives the same answers in a fresh interpreter, which is started once.

    ``sources`` and ``variants`` are those of :func:`check_partner`.
    """
    for partner in partners.values():
        _check_kind(partner)
    queries = [
        (_copy_by_pickling(partner), [position.turns for position in reached])
        for partner in partners.values()
        if not (partner.traits.remote or partner.traits.human)
        for reached in [positions(partner, games=games, sources=sources, variants=variants)]
    ]
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        for (partner, turns), remote in zip(queries, pool.map(_answers, queries), strict=True):
            for number, (local, decisions) in enumerate(zip(_answers((partner, turns)), remote, strict=True)):
                _expect_same(partner, f"position {number}", local, decisions, "in another process")


def positions(
    partner: Partner,
    *,
    max_count: int = MAX_COUNT,
    games: int = 16,
    seed: int = 0,
    sources: tuple[str, ...] = SOURCES,
    variants: Sequence[tuple[Rules, bool]] = VARIANTS,
) -> Iterator[CheckedPosition]:
    """Positions of every variant: half of the games follow ``partner`` where it makes offers, half are random."""
    for source in sources:
        if source == "lewis" and max_count < LEWIS_MAX_COUNT:
            continue
        for number, (rules, reveal) in enumerate(variants):
            rng = generator(seed, "positions", SOURCES.index(source), number)
            scenarios = _scenarios(source, max_count, games, rng)
            # The first batch is the game; the two others change the values that seat_0 and seat_1 cannot observe.
            tables = [
                GameBatch(shown, rules, reveal_partner_utilities=reveal)
                for shown in (scenarios, *(_other_values(scenarios, seat, rng) for seat in (1, 0)))
            ]
            noise = Noise(seed, (number,), games)
            for turn in range(rules.max_turns):
                turns, *hidden = (
                    observe_turns(table, noise, deterministic=partner.traits.deterministic) for table in tables
                )
                decisions = _random_offers(turns, rules, rng)
                if turn < _EARLY or turn >= rules.max_turns - _LATE:
                    where = f"{source} scenarios, {rules}, revealed={reveal}, turn {turn}"
                    informed = reveal or partner.traits.privileged
                    yield CheckedPosition(where, turns, turns if informed else hidden[turn % 2])
                    decisions = _half_own(partner, where, turns, decisions)
                for table in tables:
                    table.step(decisions)


def _check_kind(partner: object) -> None:
    if isinstance(partner, type):
        raise AssertionError(f"{partner.__name__} is a class: pass an instance, {partner.__name__}()")
    if not isinstance(partner, Partner) or not isinstance(partner.traits, Traits):
        raise AssertionError(f"{partner!r} is no partner: it needs act(turns) and traits, a dond_marl.seats.Traits")


def _copy_by_pickling(partner: Partner) -> Partner:
    """A copy made by pickling, as worker processes get it."""
    try:
        copy: Partner = pickle.loads(pickle.dumps(partner))  # noqa: S301  # our own pickle
    except Exception as error:
        raise AssertionError(
            f"{partner_name(partner)} must be picklable: define its class at the top of a module, and hold nothing "
            f"in it that cannot be pickled ({type(error).__name__}: {error})"
        ) from error
    return copy


def _check_pure(partner: Partner, position: CheckedPosition, decisions: Decisions, rng: np.random.Generator) -> None:
    """Check that each answer depends on its own row only, and on no more of it than the traits declare."""
    where, turns, size = position.where, position.turns, position.turns.size

    def check(query: Turns, when: str, expected: Decisions = decisions) -> None:
        _expect_same(partner, where, expected, _ask(partner, where, query), when)

    check(turns, "when asked twice")
    check(position.hidden, "when the other seat's values change")
    orders = rng.permutation(size), rng.permutation(size)[: (size + 1) // 2], rng.integers(size, size=1)
    for order, when in zip(orders, ("in another order", "among fewer games", "alone"), strict=True):
        check(turns.rows(order), when, _rows(decisions, order))
    small = np.flatnonzero(turns.counts.max(axis=1) == turns.counts.max(axis=1).min())
    check(turns.rows(small), "without larger pools", _rows(decisions, small))
    if partner.traits.deterministic:
        noisy = turns._replace(noise=rng.random((size, NOISE_WIDTH)), game_noise=rng.random((size, NOISE_WIDTH)))
        check(noisy, "with noise, although it declares none")
    if partner.traits.memoryless:
        check(_another_past(turns, rng), "after another past, although it declares no memory")


def _ask(partner: Partner, where: str, turns: Turns) -> Decisions:
    """The partner's answer, checked: well-formed, legal, and without writing into ``turns``."""
    before = _bytes(turns)
    with Blame(
        lambda error: AssertionError(f"{partner_name(partner)} raised {type(error).__name__} ({where}): {error}")
    ):
        decisions = partner.act(turns)
    _expect(
        isinstance(decisions, Decisions), partner, where, f"must return {DECISIONS}; got {type(decisions).__name__}"
    )
    _expect(_bytes(turns) == before, partner, where, "wrote into its turns")
    size = turns.size
    texts = decisions.messages
    fits = texts is None or (isinstance(texts, np.ndarray) and texts.shape == (size,) and texts.dtype == np.object_)
    _expect(fits, partner, where, f"must answer messages as None or object[{size}]")
    for message in () if texts is None else texts.tolist():
        broken = rule_against_message(turns.rules, message)
        _expect(broken is None, partner, where, f"sent an illegal message: {broken}")
    for name, array in zip(Decisions._fields[:4], decisions[:4], strict=True):
        shape, dtype = (size, 3) if name == "oA" else (size,), np.float32 if name == "confidence" else np.int8
        fits = isinstance(array, np.ndarray) and array.shape == shape and array.dtype == dtype
        got = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        _expect(fits, partner, where, f"must answer {name} as {dtype.__name__}{list(shape)}; got {got}")
    act, oA = decisions.act_type, decisions.oA
    _expect(((act >= 0) & (act <= Act.END)).all(), partner, where, f"played acts outside 0..4: {act.tolist()}")
    legal = turns.act_mask[np.arange(size), act]
    _expect(legal.all(), partner, where, "played AGREE with no offer on the table" + _first(~legal))
    beyond = ((oA < 0) | (oA > turns.counts)).any(axis=1) & (act <= Act.INSIST)
    _expect(not beyond.any(), partner, where, "claimed what the pool does not hold" + _first(beyond))
    _expect(
        ((decisions.confidence >= 0) & (decisions.confidence <= 1)).all(), partner, where, "has confidence outside 0..1"
    )
    _expect(np.isin(decisions.cause, list(Cause)).all(), partner, where, "gives a cause that is no Cause")
    return _rows(decisions, np.arange(size))  # a copy: the partner may use its arrays again


def _expect(condition: bool | np.bool_, partner: object, where: str, violation: str) -> None:
    if not condition:
        raise AssertionError(f"{partner_name(partner)} {violation} ({where})")


def _expect_same(partner: object, where: str, first: Decisions, second: Decisions, when: str) -> None:
    offers = (first.act_type <= Act.INSIST)[:, None]
    different = (first.act_type != second.act_type) | ((first.oA != second.oA) & offers).any(axis=1)
    if first.messages is not None or second.messages is not None:
        first_texts, second_texts = (
            decisions.messages if decisions.messages is not None else "" for decisions in (first, second)
        )
        different |= first_texts != second_texts
    different |= (first.cause != second.cause) | ~(np.abs(first.confidence - second.confidence) <= _SAME)
    _expect(not different.any(), partner, where, f"answers differently {when}" + _first(different))


def _first(rows: NDArray[np.bool_]) -> str:
    return f", first in row {int(rows.argmax())}"


def _rows(decisions: Decisions, index: NDArray[np.int64]) -> Decisions:
    messages = None if decisions.messages is None else decisions.messages[index]
    act, oA, confidence, cause = (part[index] for part in decisions[:4])
    return Decisions(act, oA, confidence, cause, messages)  # type: ignore[arg-type]  # each keeps its kind


def _bytes(turns: Turns) -> list[bytes]:
    history = turns.history.act, turns.history.oA
    arrays = [field for field in (*turns, *history) if isinstance(field, np.ndarray)]
    return [
        *(np.ascontiguousarray(field).tobytes() for field in arrays),
        repr(turns.history.messages.tolist()).encode(),
    ]


def _answers(query: tuple[Partner, list[Turns]]) -> list[Decisions]:
    partner, batches = query
    return [_rows(partner.act(turns), np.arange(turns.size)) for turns in batches]


def _scenarios(source: str, max_count: int, games: int, rng: np.random.Generator) -> Scenarios:
    """Scenarios of a source; those made by hand lie outside its support."""
    if source != "by_hand":
        return open_source(source, max_count=max_count).draw(rng, games)
    counts = rng.integers(0, max_count + 1, size=(games, 3), dtype=np.int8)
    counts[~counts.any(axis=1), 1] = 1
    utilities = rng.integers(0, 11, size=(games, 2, 3), dtype=np.int8)
    utilities *= rng.integers(0, 2, size=(games, 1, 3), dtype=np.int8)
    counts[0], utilities[0], utilities[1:2, 0] = max_count, 10, 0  # the largest table; a seat that values nothing
    return Scenarios(counts, utilities, "lewis")


def _other_values(scenarios: Scenarios, seat: int, rng: np.random.Generator) -> Scenarios:
    utilities = scenarios.utilities.copy()
    utilities[:, seat] = rng.integers(0, 11, size=(scenarios.size, 3))
    return scenarios._replace(utilities=utilities)


def _random_offers(turns: Turns, rules: Rules, rng: np.random.Generator) -> Decisions:
    """Random acts that do not end the game: PROPOSE, INSIST, and DISAGREE where it only rejects."""
    acts = np.array([Act.PROPOSE, Act.INSIST, Act.DISAGREE], dtype=np.int8)
    act = rng.choice(acts, size=turns.size, p=[0.5, 0.3, 0.2])
    if rules.disagree == "ends":
        act[act == Act.DISAGREE] = Act.PROPOSE
    return decide(act, rng.integers(0, turns.counts + 1))


def _half_own(partner: Partner, where: str, turns: Turns, decisions: Decisions) -> Decisions:
    if partner.traits.remote or partner.traits.human:
        return decisions  # each query costs: one is enough
    answers = _ask(partner, where, turns)
    follows = (np.arange(turns.size) % 2 == 0) & (answers.act_type <= Act.INSIST)
    return decide(
        np.where(follows, answers.act_type, decisions.act_type), np.where(follows[:, None], answers.oA, decisions.oA)
    )


def _another_past(turns: Turns, rng: np.random.Generator) -> Turns:
    """The same position after other acts: only the partner's latest claim and its acts since then stay the same."""
    acts, oA = turns.history.act.T.copy(), turns.history.oA.transpose(1, 2, 0).copy()
    turn = np.arange(len(acts))[:, None]
    hidden_values = turn % 2 != turns.seat
    latest = np.where(hidden_values & (acts <= Act.INSIST), turn, -1).max(axis=0, initial=-1)
    free = ~hidden_values | (turn < latest)
    acts[free] = rng.integers(0, 2, size=int(free.sum()))
    other = rng.integers(0, np.broadcast_to(turns.counts.T, oA.shape) + 1, dtype=np.int8)
    return turns._replace(history=History(acts, np.where(free[:, None], other, oA), turns.turns_taken))
