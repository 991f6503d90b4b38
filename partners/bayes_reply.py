"""The Bayes reply to a bank of programs: a posterior over programs and values, and the act of the best expected value.

A *hypothesis* is a program of the bank together with values that the scenario prior allows. Every answer of the partner
is evidence by Bayes' rule (types and a prior over them: Albrecht, Crandall, Ramamoorthy 2015, AAAI, *An empirical study
on the practical impact of prior beliefs over policy types*). The likelihood is tempered: with N splits it is ``1 -
temper`` times the probability of the partner's claim under the hypothesis, plus ``temper / N``. So a partner that no
program explains still raises the weight of those that are right most often.

Acts are valued as if the hypothesis were revealed by the next answer (QMDP: Littman, Cassandra, Kaelbling 1995,
*Learning policies for partially observable environments*, section 3). Such values see no use in asking: of claims that
are refused all are equally good. Therefore a deal a turn later counts :data:`DISCOUNT` times as much, which makes the
reply try, of the claims still open, those that some hypothesis accepts at once.

Programs are tables of answers (:mod:`dond_marl.solvers.replies`), computed pool by pool on first use. A program
with memory is tabled as if the reply had made the same claim on all of its turns: an approximation.

C contexts, V views of the partner, N splits, D deterministic and S other programs, M = D + S, R rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import NotComputable, quote
from dond_marl.game import Act, Rules
from dond_marl.occupants import SpecLike, seat_occupant
from dond_marl.scenarios.sources import lewis_space
from dond_marl.seats import Decisions, Doubles, Floats, Int8s, Partner, Traits, Turns, decide, turns_after
from dond_marl.solvers.automata import drawn_personas
from dond_marl.solvers.best_response import OutOfReach
from dond_marl.solvers.contexts import LEWIS_PRIORS, Contexts, Index, act_numbers, beliefs, contexts_in, split_points
from dond_marl.solvers.odds import NumberedHistories
from dond_marl.solvers.replies import Probable, Replies
from partners.best_response import SolvedViews, contexts_of_views
from partners.parameters import check_number
from partners.rosters import occupants_named

DISCOUNT = 0.99  # of a deal that is made a turn later
POOLS = 128  # with tables; beyond that all are dropped
ROOM = 1 << 29  # bytes of the answer tables of one pool
_WEIGHT = 1 << 12  # resolution of weights, relative to the largest
_POINT = 1 << 10  # resolution of values, per point: sums are whole numbers, the same in any order

Answers = tuple[NDArray[np.int16], Floats]


class BayesReply:
    """Plays the best act under its posterior over a bank of programs.

    Source: GenBR (Li et al. 2023, arXiv 2302.00797) without search: a Bayes posterior over generated opponents, here
    with exact answer tables and revealed values (QMDP); see the module. No training. Only for ``disagree="ends"`` and
    scenarios whose prior allows few values, such as ``lewis``.

    - ``of``: the programs: a list of occupants that are deterministic, or have known probabilities and no memory;
      ``bank`` for :func:`partners.rosters.bank`, ``zoo`` for such members of the roster train.
    - ``temper``: 0..1, the share of an answer's likelihood that is the same for every claim.
    """

    traits = Traits(deterministic=True)

    def __init__(self, of: Sequence[SpecLike | Partner] | str = "bank", temper: float = 0.3) -> None:
        check_number("temper", temper, 0, 1)
        if not of or (isinstance(of, str) and of not in ("bank", "zoo")):
            raise ValueError(f"of must be a list of occupants, bank or zoo; got {quote(of)}")
        occupants = occupants_named(of) if isinstance(of, str) else of
        programs, chances = list[Partner](), list[float]()
        for spec in occupants:
            personas = drawn_personas(seat_occupant(spec))
            if all(has_tables(persona.partner) for persona in personas):
                programs += [persona.partner for persona in personas]
                chances += [persona.chance for persona in personas]
            elif not isinstance(of, str):
                raise ValueError(f"{spec} has no table of answers: it is random, and has memory or no probs")
        order = np.argsort([not program.traits.deterministic for program in programs], kind="stable")
        self.programs = [programs[i] for i in order]
        self.chances: Doubles = np.array(chances)[order] / sum(chances)
        self.temper, self._occupants = temper, of
        self._tables: dict[tuple[Rules, str, bool, bytes], SolvedViews[Tables]] = {}

    def __repr__(self) -> str:
        return f"BayesReply(of={self._occupants!r}, temper={self.temper!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": {}}  # computed again on demand

    def act(self, turns: Turns) -> Decisions:
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        for tables, rows, context in self._by_tables(turns):
            part = turns.rows(rows)
            choice = tables.best_acts(part, context, self.temper)
            offer = choice < 2 * tables.width
            act[rows] = np.where(offer, choice // tables.width, Act.AGREE)
            oA[rows] = tables.splits[np.where(offer, choice % tables.width, 0)] * offer[:, None]
        return decide(act, oA)

    def posterior(self, turns: Turns) -> list[Doubles]:
        """The probability of each of M programs with each of K values, one array ``[K, M]`` for each row.

        Programs are in the order of :attr:`programs`, values in that of the prior
        (:func:`dond_marl.solvers.contexts.contexts_of`).
        """
        posteriors: list[Doubles] = [np.zeros(0)] * turns.size
        for tables, rows, context in self._by_tables(turns):
            weights = tables.weights(turns.rows(rows), context, self.temper)
            for row, row_weights, context_number in zip(rows.tolist(), weights, context.tolist(), strict=True):
                posteriors[row] = row_weights[tables.possible(context_number)] / row_weights.sum()
        return posteriors

    def _by_tables(self, turns: Turns) -> list[tuple[Tables, Index, Index]]:
        """The tables that cover the rows, with the rows and their contexts there."""
        revealed = bool(turns.partner_utilities.any())
        result: list[tuple[Tables, Index, Index]] = []
        if len(self._tables) > POOLS:
            self._tables.clear()
        pools, pool_of_row = np.unique(turns.counts, axis=0, return_inverse=True)
        for number, pool in enumerate(pools):
            key = turns.rules, turns.prior, revealed, pool.tobytes()
            if key not in self._tables:
                make = partial(Tables, self.programs, self.chances, rules=turns.rules, prior=turns.prior)
                contexts = None if revealed else _contexts_of_pool(turns.prior, pool)
                self._tables[key] = SolvedViews(make, turns.prior, revealed, contexts)
            rows = np.flatnonzero(pool_of_row.reshape(-1) == number)
            by_tables = self._tables[key].by_solver(turns.rows(rows))
            result += [(tables, rows[part], context) for tables, part, context in by_tables]
        return result


class Tables:
    """The answers of all programs over one pool, and the values of acts against them."""

    def __init__(
        self, programs: Sequence[Partner], chances: Doubles, contexts: Contexts, rules: Rules, prior: str
    ) -> None:
        if rules.disagree != "ends":
            raise NotComputable(f'the Bayes reply needs disagree="ends"; got {rules}')
        self.programs, self.contexts, self.rules, self.prior = programs, contexts, rules, prior
        self._replies = [Replies(program, rules, contexts.partner_views, prior) for program in programs]
        self.width, views = self._replies[0].width, contexts.partner_views.size
        self.sure = sum(program.traits.deterministic for program in programs)  # D
        self.splits, self.complement = contexts.splits.oA[0], contexts.splits.complement[0]
        self.points = split_points(contexts.own_views, contexts.splits).astype(np.float32)  # [C, N]
        random = (len(programs) - self.sure) * (2 * self.width + 3) * 4
        if 2 * self.width * views * (2 * self.sure + random) * rules.max_turns > ROOM:
            raise OutOfReach(
                f"the tables of {len(programs)} programs are too large for {views} possible values and {self.width} "
                f"splits: scenarios of 'lewis', 'self_play' or 'dialogues' are within reach"
            )
        self._prior: Doubles = np.zeros((contexts.size, views, len(programs)))
        values = np.zeros((contexts.size, views))
        np.add.at(values, (np.arange(contexts.size)[:, None], contexts.types), contexts.weights)
        self._prior[:] = values[:, :, None] * chances
        self._prior /= self._prior.max(axis=(1, 2), keepdims=True)
        self._repeated: dict[int, NDArray[np.int16]] = {}
        self._answers: dict[int, Answers] = {}
        self._claims: dict[int, NDArray[np.int16]] = {}
        self._best: dict[int, Floats] = {}

    def possible(self, context: int) -> Index:
        """The partner's views that the prior allows in a context, ``[K]``."""
        return np.flatnonzero(self._prior[context].any(axis=1))

    def answers(self, turns_left: int) -> Answers:
        """The answers to each claim at ``turns_left``, ``[2N + 1, V, D]``, and odds ``[2N + 1, V, S, 2N + 3]``."""
        if turns_left not in self._answers:
            views, size = self.contexts.partner_views.size, 2 * self.width + 1
            sure = np.empty((size, views, self.sure), dtype=np.int16)
            for number, replies in enumerate(self._replies[: self.sure]):
                forgets = self.programs[number].traits.memoryless
                codes = replies.codes(turns_left).T if forgets else self._to_repeated(number)[turns_left - 1]
                sure[:, :, number] = codes
            odds = np.empty((size, views, len(self.programs) - self.sure, size + 2), dtype=np.float32)
            for number, replies in enumerate(self._replies[self.sure :]):
                odds[:, :, number] = replies.probs(turns_left, np.arange(views)).transpose(1, 0, 2)
            self._answers[turns_left] = sure, odds
        return self._answers[turns_left]

    def _to_repeated(self, number: int) -> NDArray[np.int16]:
        """The answers of a program if the same claim is made on all turns, by turns left - 1, ``[T, 2N + 1, V]``."""
        if number in self._repeated:
            return self._repeated[number]
        n, views, rules, program = self.width, self.contexts.partner_views, self.rules, self.programs[number]
        claims = n if getattr(program, "insist_is_propose", False) else 2 * n
        claim, view = (index.reshape(-1) for index in np.indices((claims, views.size)))
        counts, utilities = views.counts[view], views.utilities[view]
        revealed = None if views.partner_utilities is None else views.partner_utilities[view]
        table = np.full((rules.max_turns, 2 * n + 1, views.size), -1, dtype=np.int16)
        for seat in (0, 1):
            acts, offers = np.zeros((0, len(view)), np.int8), np.zeros((0, 3, len(view)), np.int8)
            ended = np.full(len(view), -1)  # the answer that ended the game: the same on later turns
            for turn in range(rules.max_turns):
                turn_claim = claim
                if turn % 2 == seat:
                    offer = counts - self.splits[claim % n] * np.int8(turn > 0) if turn else np.zeros_like(counts)
                    reply = program.act(
                        turns_after(rules, self.prior, counts, utilities, acts, offers, offer, revealed)
                    )
                    answer = np.where(ended >= 0, ended, act_numbers(counts, reply.act_type, reply.oA, n))
                    ended = np.where(answer >= 2 * n, answer, ended)
                    by_claim = answer.reshape(claims, views.size)
                    if turn:
                        table[rules.max_turns - turn - 1, : 2 * n] = np.tile(by_claim, (2 * n // claims, 1))
                    else:
                        table[-1, 2 * n] = by_claim[0]
                    turn_claim = np.where(answer < 2 * n, answer, n - 1)  # after the end any claim will do
                acts = np.concatenate([acts, (turn_claim // n).astype(np.int8)[None]])
                offers = np.concatenate([offers, self.splits[turn_claim % n].T[None]])
        self._repeated[number] = table
        return table

    def weights(self, turns: Turns, context: Index, temper: float) -> Doubles:
        """The posterior of every hypothesis, ``[R, V, M]``; the largest is 1. PROPOSE and INSIST are one claim."""
        n, weights = self.width, self._prior[context]
        for query, answer, turns_left in NumberedHistories(turns).answers(n):
            _, odds = self.answers(turns_left)
            split = answer % n
            fits = self.claims(turns_left)[query] == split[:, None, None]
            chance = odds[query, :, :, split] + odds[query, :, :, split + n]
            weights[..., : self.sure] *= np.where(fits, 1 - temper + temper / n, temper / n)
            weights[..., self.sure :] *= (1 - temper) * chance + temper / n
            largest = weights.max(axis=(1, 2), keepdims=True)
            if not largest.all():
                unexplained = largest[:, 0, 0] == 0
                weights[unexplained] = self._prior[context[unexplained]]
            weights /= weights.max(axis=(1, 2), keepdims=True)
        return weights

    def claims(self, turns_left: int) -> NDArray[np.int16]:
        """The split that each deterministic program claims in its answers at ``turns_left``, -1 for no offer."""
        if turns_left not in self._claims:
            sure = self.answers(turns_left)[0]
            self._claims[turns_left] = np.where(sure < 2 * self.width, sure % self.width, -1).astype(np.int16)
        return self._claims[turns_left]

    def best_acts(self, turns: Turns, context: Index, temper: float) -> Index:
        """The number of the best act of each row, ``[R]``: a claim, or 2N for AGREE. Ties: AGREE, then own points."""
        n, turns_left = self.width, turns.rules.max_turns - turns.turns_taken
        claim, may_agree = NumberedHistories(turns).claim(1 - turns.seat, n), turns.act_mask[:, Act.AGREE]
        agree = np.rint(_POINT * self.points[context, self.complement[np.minimum(claim, n - 1)]])
        choice = np.where(may_agree, 2 * n, n - 1)
        for number in np.unique(context).tolist() if turns_left > 1 else ():
            rows = np.flatnonzero(context == number)  # few, so that their weights stay in the processor's cache
            weights = np.rint(_WEIGHT * self.weights(turns.rows(rows), context[rows], temper)).reshape(len(rows), -1)
            held = np.flatnonzero(weights.any(axis=0))
            view, program = np.divmod(held, len(self.programs))
            values = np.rint(_POINT * self.claim_values(number, turns_left, view, program))
            weights = weights[:, held]
            worth = weights @ values.T
            best = worth.max(axis=1)
            taste = np.tile(self.points[number], 2)
            chosen = np.where(worth == best[:, None], taste, -1).argmax(axis=1)
            settle = may_agree[rows] & (agree[rows] * weights.sum(axis=1) >= best)
            choice[rows] = np.where(settle, 2 * n, chosen)
        return choice

    def claim_values(self, context: int, turns_left: int, view: Index, program: Index) -> Floats:
        """Points of every claim in H hypotheses if they are then revealed, ``[2N, H]``; ``turns_left`` >= 2."""
        n, is_sure = self.width, program < self.sure
        points, discount = self.points[context], np.float32(DISCOUNT)
        claimed = np.tile(points, 2)[:, None]
        after = np.append(np.tile(points[self.complement], 2), [0] * 3).astype(np.float32)
        later = self.best_values(turns_left - 2)[context, view, program] if turns_left > 2 else None
        sure, odds = self.answers(turns_left - 1)
        worth = np.zeros((2 * n, len(view)), dtype=np.float32)
        answers = sure[: 2 * n, view[is_sure], program[is_sure]]
        deal = answers == 2 * n
        if later is None:
            deal |= self._mirrors(answers)
            worth[:, is_sure] = deal * claimed
        else:
            next_value = np.maximum(after[answers], later[is_sure]) * discount
            worth[:, is_sure] = np.where(answers < 2 * n, next_value, deal * claimed)
        chance = odds[: 2 * n, view[~is_sure], program[~is_sure] - self.sure]  # [2N, H, 2N + 3]
        worth[:, ~is_sure] = chance[..., 2 * n] * claimed
        if later is None:
            worth[:, ~is_sure] += self._mirror_chance(chance) * claimed
        else:
            next_value = np.maximum(after[: 2 * n], later[~is_sure, None]) * discount
            worth[:, ~is_sure] += (chance[..., : 2 * n] * next_value).sum(axis=2)
        return worth

    def best_values(self, turns_left: int) -> Floats:
        """The most of :meth:`claim_values` in every hypothesis, ``[C, V, M]``; 0 with one turn left."""
        if turns_left in self._best:
            return self._best[turns_left]
        n, views, discount = self.width, self.contexts.partner_views.size, np.float32(DISCOUNT)
        best = np.zeros((self.contexts.size, views, len(self.programs)), dtype=np.float32)
        if turns_left > 1:
            sure, odds = self.answers(turns_left - 1)
            answers, best_sure = sure[: 2 * n], best[..., : self.sure]
            deal = answers == 2 * n
            points, after = self.points, self.points[:, self.complement]
            if turns_left == 2:
                deal |= self._mirrors(answers)
            else:
                offered = np.zeros((n + 1, views, self.sure), dtype=bool)
                np.put_along_axis(offered, np.where((answers >= 0) & (answers < 2 * n), answers % n, n), True, axis=0)
                np.multiply(self.best_values(turns_left - 2)[..., : self.sure], offered[:n].any(axis=0), out=best_sure)
                for split in range(n):
                    np.maximum(best_sure, after[:, split, None, None] * offered[split], out=best_sure)
                best_sure *= discount
            for split in range(n):
                np.maximum(best_sure, points[:, split, None, None] * (deal[split] | deal[split + n]), out=best_sure)
            chance = odds[: 2 * n]
            closes = chance[..., 2 * n] + (self._mirror_chance(chance) if turns_left == 2 else 0)  # [2N, V, S]
            worth = closes.transpose(1, 2, 0)[..., None] * np.tile(points, 2).T  # [V, S, 2N, C]
            if turns_left > 2:
                later = self.best_values(turns_left - 2)[..., self.sure :, None]
                next_value = np.maximum(np.tile(after, 2)[:, None, None], later) * discount  # [C, V, S, 2N]
                worth += chance[..., : 2 * n].transpose(1, 2, 0, 3) @ next_value.transpose(1, 2, 3, 0)
            best[..., self.sure :] = worth.max(axis=2).transpose(2, 0, 1)
        self._best[turns_left] = best
        return best

    def _mirrors(self, answers: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Whether answers on the last turn claim what each claim leaves, which is a deal; ``answers[2N, ...]``."""
        complement = np.tile(self.complement, 2).reshape(-1, *[1] * (answers.ndim - 1))
        mirrors: NDArray[np.bool_] = (answers < 2 * self.width) & (answers % self.width == complement)
        return mirrors

    def _mirror_chance(self, chance: Floats) -> Floats:
        """The probability of that, ``[2N, ...]`` from ``[2N, ..., 2N + 3]``."""
        claim, complement = np.arange(2 * self.width), np.tile(self.complement, 2)
        mirrored: Floats = chance[claim, ..., complement] + chance[claim, ..., complement + self.width]
        return mirrored


def _contexts_of_pool(prior: str, pool: Int8s) -> Contexts | None:
    """Every private view of a pool that the prior allows; None where there are none, or hundreds."""
    if prior in LEWIS_PRIORS:
        space = lewis_space()
        legal = space.rows(np.flatnonzero((space.counts == pool).all(axis=1)))
        return contexts_in(legal, 0) if legal.size else None
    if "(budget=" not in prior:
        return None
    values = beliefs(prior, pool[None], np.zeros_like(pool[None])).types[0]
    return contexts_of_views(prior, np.hstack([np.tile(pool, (len(values), 1)), values]), revealed=False)


def has_tables(program: Partner) -> bool:
    """Whether the answers of ``program`` can be tabled."""
    return program.traits.deterministic or (program.traits.memoryless and isinstance(program, Probable))
