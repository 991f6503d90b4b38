"""Best responses to memoryless stochastic partners, from the probabilities of their answers.

Every answer leads to another belief, a weight for each of the partner's possible values, and hardly two are equal, so
memoising does not help. So expectimax is exact in games of at most four turns, where a seat that has received one
answer has at most one more decision that matters. In longer ones there are bounds. Above: the value if the partner's
values were revealed after the seat's next act (QMDP: Littman, Cassandra, Kaelbling 1995, *Learning policies for
partially observable environments*, section 3), which is less than if they were revealed at once. Below: the points of
any response that is played, such as the one that acts by those values (``partners.best_response``).

The posterior after the partner's answers is Bayes' rule over the values that the scenario prior allows
(:mod:`dond_marl.solvers.contexts`), each weighed by the likelihood of every answer; the answers of a deterministic
partner only rule values out. Where the partner is drawn for each game from several personas, the persona and its values
together are one type. Only for ``disagree="ends"``, under which a seat's claim is always its last act.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dond_marl.errors import NotComputable
from dond_marl.game import Act, Rules
from dond_marl.seats import NO_ACT_YET, Doubles, Partner, Turns, partner_name
from dond_marl.solvers.automata import Persona, drawn_personas
from dond_marl.solvers.best_response import OutOfReach
from dond_marl.solvers.contexts import Contexts, Index, Views, split_numbers, split_points
from dond_marl.solvers.replies import Probable, Replies

EXACT_TURNS = 4
BLOCK = 32  # contexts that are computed in one call
ROOM = 4_000_000  # views times splits squared: a table of probabilities has about four times as many numbers


class Odds:
    """The transitions of a seat's game against a partner with known probabilities. N splits, K types, C contexts.

    A partner that is drawn for each game from P personas has the types of each of them: ``contexts`` holds them one
    persona after the other.
    """

    def __init__(self, partner: Partner, contexts: Contexts, rules: Rules, prior: str) -> None:
        self.personas, self.rules = check_stochastic(partner, rules), rules
        self.contexts, views = with_personas(contexts, self.personas), contexts.partner_views
        self._replies = [Replies(persona.partner, rules, views, prior) for persona in self.personas]
        self.width, splits = self._replies[0].width, contexts.splits
        if self.contexts.partner_views.size * self.width**2 > ROOM:
            raise OutOfReach(
                f"{self.contexts.partner_views.size} views with up to {self.width} splits are too many to be exact "
                f"about: scenarios of 'lewis', 'self_play' or 'dialogues' are within reach"
            )
        self.points, self.complement = split_points(contexts.own_views, splits), splits.complement
        self.offers = np.tile(np.arange(self.width) < splits.number[:, None], 2)  # [C, 2N] legal claims
        self._answers: dict[int, Doubles] = {}
        self._revealed: dict[int, tuple[Doubles, Doubles]] = {}

    def answers(self, turns_left: int) -> Doubles:
        """The probability of each answer of each view to each query, ``[V, 2N + 1, 2N + 3]``."""
        if turns_left not in self._answers:
            every = [replies.probs(turns_left, np.arange(replies.views.size)) for replies in self._replies]
            self._answers[turns_left] = np.concatenate(every)
        return self._answers[turns_left]

    def opening(self) -> Doubles:
        """The joint weight of each type and each opening offer of a partner that moves first, ``[C, 2N, K]``."""
        answers = self.answers(self.rules.max_turns)[:, -1, : 2 * self.width]  # [V, 2N]
        return answers[self.contexts.types].transpose(0, 2, 1) * self.contexts.weights[:, None]

    def agree_points(self, context: Index, claim: Index) -> Doubles:
        """Points of AGREE after the partner's claims, ``[S]``; 0 without one (N)."""
        n = self.width
        keeps_split = self.complement[context, np.minimum(claim, n - 1)]
        return self.points[context, keeps_split] * (claim < n)

    def immediate(self, context: Index, turns_left: int) -> tuple[Doubles, Doubles]:
        """The certain points of each claim by the next answer against each type, and its END part.

        Both ``[S, 2N, K]``; for a seat with ``turns_left`` turns left, at least 2. After END, or an answer on the last
        turn, claims that add up are a deal; END counts only where the claim is the rest of the partner's: see
        :meth:`add_end_points`.
        """
        n, types = self.width, self.contexts.types[context]
        answers = self.answers(turns_left - 1)[types, : 2 * n].transpose(0, 2, 1, 3)  # [S, 2N, K, X]
        chance = answers[..., 2 * n]
        if turns_left == 2:
            complement = np.tile(self.complement[context], 2)[:, :, None, None]
            chance = chance + sum(np.take_along_axis(answers, complement + kind * n, axis=3)[..., 0] for kind in (0, 1))
        worth = np.tile(self.points[context], 2)[:, :, None]
        return chance * worth, answers[..., 2 * n + 2] * worth

    def add_end_points(self, worth: Doubles, ends: Doubles, context: Index, claim: Index) -> None:
        """Add to ``worth[S, 2N]`` the points of END, ``ends[S, 2N]``, where the claim is what the partner's leaves."""
        rows = np.flatnonzero(claim < self.width)
        keeps_split = self.complement[context[rows], claim[rows]]
        for kind in (0, self.width):
            worth[rows, keeps_split + kind] += ends[rows, keeps_split + kind]

    def revealed_values(self, turns_left: int) -> tuple[Doubles, Doubles]:
        """If the type is revealed: the value of each claim against it, and its END part, ``[C, 2N, K]`` each."""
        if turns_left not in self._revealed:
            worth, ends = zip(*self._revealed_blocks(turns_left), strict=True)
            self._revealed[turns_left] = np.concatenate(worth), np.concatenate(ends)
        return self._revealed[turns_left]

    def _revealed_blocks(self, turns_left: int) -> Iterator[tuple[Doubles, Doubles]]:
        size, step = self.contexts.size, max(BLOCK // len(self.personas), 1)
        for start in range(0, size, step):
            rows = np.arange(start, min(start + step, size))
            worth, ends = self.immediate(rows, turns_left)
            if turns_left > 2:
                after = self.best_revealed(turns_left - 2)[rows]  # [S, N, K] by the partner's claim
                by_offer = np.concatenate([after, after], axis=1)  # [S, 2N, K]
                answers = self.answers(turns_left - 1)[self.contexts.types[rows], : 2 * self.width, : 2 * self.width]
                worth += np.einsum("skhx,sxk->shk", answers, by_offer, optimize=True)
            worth[~self.offers[rows]] = 0
            yield worth, ends

    def best_revealed(self, turns_left: int) -> Doubles:
        """The value of a seat to which the type is revealed, after each claim of the partner, ``[C, N, K]``."""
        n, size = self.width, self.contexts.size
        context = np.repeat(np.arange(size), n)
        claim = np.tile(np.arange(n), size)
        agree = self.agree_points(context, claim).reshape(size, n, 1)
        if turns_left == 1:
            return np.broadcast_to(agree, (size, n, self.contexts.types.shape[1]))
        worth, ends = self.revealed_values(turns_left)
        best: Doubles = np.maximum(agree, worth.max(axis=1, keepdims=True))
        for kind in (0, n):  # the claim that the partner's leaves, plus its END part
            mirror = np.take_along_axis(worth + ends, self.complement[:, :, None] + kind, axis=1)
            best = np.maximum(best, mirror)
        return best


def with_personas(contexts: Contexts, personas: Sequence[Persona]) -> Contexts:
    """The contexts with types of personas and views: all views of the first persona, then of the next."""
    views, number = contexts.partner_views, np.arange(len(personas)) * contexts.partner_views.size
    counts, utilities = (np.tile(part, (len(personas), 1)) for part in views[:2])
    revealed = None if views.partner_utilities is None else np.tile(views.partner_utilities, (len(personas), 1))
    chances = np.array([persona.chance for persona in personas])
    types = (contexts.types[:, None] + number[:, None]).reshape(contexts.size, -1)
    weights = (contexts.weights[:, None] * chances[:, None]).reshape(contexts.size, -1)
    return Contexts(contexts.own_views, Views(counts, utilities, revealed), types, weights, contexts.shares)


def personas_have_odds(partner: Partner, rules: Rules) -> bool:
    """Whether the answer probabilities of every persona of ``partner`` are known."""
    return all(has_odds(persona.partner, rules) for persona in drawn_personas(partner))


def check_stochastic(partner: Partner, rules: Rules) -> list[Persona]:
    """The personas of ``partner``; raises :class:`NotComputable` where the odds of one are not known."""
    personas = drawn_personas(partner)
    for persona in personas:
        check_odds(persona.partner, rules)
    return personas


def has_odds(partner: Partner, rules: Rules) -> bool:
    """Whether the probabilities of the answers of ``partner`` are known."""
    knows = partner.traits.deterministic or isinstance(partner, Probable)
    return knows and partner.traits.memoryless and rules.disagree == "ends"


def check_odds(partner: Partner, rules: Rules) -> None:
    """Raise :class:`NotComputable` where the probabilities of the answers of ``partner`` are not known."""
    if not has_odds(partner, rules):
        raise NotComputable(
            f"bounds from a partner's odds need one without memory that knows its probabilities (probs), and "
            f'disagree="ends"; got {partner_name(partner)} under {rules}'
        )


def upper_bound(odds: Odds, seat: int) -> float:
    """An upper bound of the best response's value: the partner's type is revealed after the seat's first choice."""
    contexts, first = odds.contexts, odds.rules.max_turns - seat
    if odds.rules.max_turns == 1:
        return 0.0
    if seat == 0:
        worth = np.einsum("chk,ck->ch", odds.revealed_values(first)[0], contexts.weights)
        return float(worth.max(axis=1) @ contexts.shares)
    opening, total = odds.opening(), np.zeros(contexts.size)
    for offer in range(2 * odds.width):
        claim = np.full(contexts.size, offer % odds.width)
        total += best_by_value(odds, np.arange(contexts.size), opening[:, offer], claim, first)[0]
    return float(total @ contexts.shares)


def best_by_value(odds: Odds, context: Index, weights: Doubles, claim: Index, turns_left: int) -> tuple[Doubles, Index]:
    """Act by the revealed values of claims: the expected value ``[S]`` and the act, 2N for AGREE, ``[S]``.

    ``weights[S, K]`` are the beliefs, unnormalised; ``claim[S]`` is the partner's last, N for none.
    """
    agree = odds.agree_points(context, claim) * weights.sum(axis=1)
    if turns_left == 1:
        return agree, np.full(len(context), 2 * odds.width)
    values, endings = odds.revealed_values(turns_left)
    worth = np.einsum("shk,sk->sh", values[context], weights)
    odds.add_end_points(worth, np.einsum("shk,sk->sh", endings[context], weights), context, claim)
    worth[~odds.offers[context]] = -1
    return _best_of(agree, worth, claim, odds.width)


def _best_of(agree: Doubles, worth: Doubles, claim: Index, n: int) -> tuple[Doubles, Index]:
    """The best value and act, ``[S]``: AGREE (2N) where there is a claim to agree to and it is as good."""
    best = worth.max(axis=1)
    agreed = (agree >= best - 1e-9) & (claim < n)
    return np.where(agreed, agree, best), np.where(agreed, 2 * n, worth.argmax(axis=1))


def exact_value(odds: Odds, seat: int) -> float:
    """The value of the best response in games of at most four turns, expected points of ten over the contexts."""
    if odds.rules.max_turns > EXACT_TURNS:
        raise NotComputable(f"exact in games of at most {EXACT_TURNS} turns; these have {odds.rules.max_turns}")
    contexts, first, total = odds.contexts, odds.rules.max_turns - seat, 0.0
    if odds.rules.max_turns == 1:
        return 0.0
    opening = odds.opening() if seat else None
    for number in range(contexts.size):
        if opening is None:
            weights, claim = contexts.weights[number][None], np.array([odds.width])
        else:
            weights, claim = opening[number], np.tile(np.arange(odds.width), 2)
        best, _ = look_ahead(odds, number, weights, claim, first)
        total += contexts.shares[number] * float(best.sum())
    return total


def look_ahead(odds: Odds, number: int, weights: Doubles, claim: Index, turns_left: int) -> tuple[Doubles, Index]:
    """Expectimax from S beliefs ``weights[S, K]`` of one context, at most four turns left: values and acts."""
    n = odds.width
    context = np.full(len(claim), number)
    agree = odds.agree_points(context, claim) * weights.sum(axis=1)
    if turns_left == 1:
        return agree, np.full(len(claim), 2 * n)
    single = np.array([number])
    sure, ends = (part[0] for part in odds.immediate(single, turns_left))  # [2N, K]
    worth = weights @ sure.T
    answers = odds.answers(turns_left - 1)[odds.contexts.types[number], : 2 * n, : 2 * n]  # [K, 2N, 2N]
    if turns_left == 3:  # the seat has the last turn of the game: it takes the offer
        keeps_split = np.tile(odds.points[number, odds.complement[number]], 2)
        worth += weights @ (answers @ keeps_split)
    elif turns_left == 4:
        offers = np.flatnonzero(odds.offers[number])
        claims = np.tile(offers % n, len(offers))
        for row, belief in enumerate(weights):
            after = belief[:, None, None] * answers[:, offers][:, :, offers]  # [K, own claim, answer]
            beliefs = after.reshape(len(belief), -1).T
            best, _ = look_ahead(odds, number, beliefs, claims, 2)
            worth[row, offers] += best.reshape(len(offers), -1).sum(axis=1)
    odds.add_end_points(worth, weights @ ends.T, context, claim)
    worth[:, ~odds.offers[number]] = -1
    return _best_of(agree, worth, claim, n)


def bayes_update(prior: Doubles, likely: Iterable[Doubles]) -> Doubles:
    """Bayes' rule: ``prior[R, K]`` weighed by the likelihood of one answer after the other, ``[R, K]`` each.

    Where no type explains an answer, the prior holds again from there on.
    """
    weights = prior
    for likelihood in likely:
        weights = weights * likelihood
        weights = np.where(weights.any(axis=1, keepdims=True), weights, prior)
        weights = weights / weights.sum(axis=1, keepdims=True)
    return weights


class NumberedHistories:
    """The rows' histories in the numbering of :mod:`dond_marl.solvers.replies`."""

    def __init__(self, turns: Turns) -> None:
        self._seat, self._turns = turns.seat, turns.rules.max_turns
        self._acts = turns.history.act.astype(np.int64).T  # [t, R]
        self._splits = [split_numbers(turns.counts, oA) for oA in turns.history.oA.transpose(1, 0, 2)]
        self._size = turns.size

    def claim(self, seat: int, none: int, before: int | None = None) -> Index:
        """The number of the seat's latest claim among its first acts, ``[R]``; ``none`` before any."""
        latest = np.full(self._size, none)
        for turn in range(seat, len(self._acts) if before is None else before, 2):
            latest = np.where(self._acts[turn] <= Act.INSIST, self._splits[turn], latest)
        return latest

    def answers(self, n: int) -> Iterator[tuple[Index, Index, int]]:
        """Each query to the partner, its answer, and the turns left to it then."""
        for turn in range(1 - self._seat, len(self._acts), 2):
            act, before = self._acts[turn], self._acts[turn - 1] if turn else np.full(self._size, int(NO_ACT_YET))
            offered = self._splits[turn - 1] if turn else before
            question = np.where(before <= Act.INSIST, before * n + offered, 2 * n)
            refused = before == Act.DISAGREE
            question = np.where(refused, 2 * n + 1 + self.claim(self._seat, n, turn), question)
            answer = np.where(act <= Act.INSIST, act * n + self._splits[turn], 2 * n + act - Act.AGREE)
            yield question, answer, self._turns - turn
