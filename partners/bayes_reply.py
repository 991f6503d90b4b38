"""The Bayes reply to a bank of programs: a posterior over programs and values, and the act of the highest expected worth.

A *hypothesis* is a program of the bank together with values that the scenario prior allows. Every answer of the partner
is evidence by Bayes' rule, tempered: the likelihood of an answer is ``(1 - temper)`` times its probability under the
hypothesis plus ``temper`` over the number of splits, so a partner that no program explains still moves the posterior
towards the programs that are right most often (types and a prior over them: Albrecht, Crandall, Ramamoorthy 2015,
*An empirical study on the practical impact of prior beliefs over policy types*; safe Bayes: Grünwald 2012). Acts are
valued as if the hypothesis were revealed after the partner's next answer (QMDP: Littman, Cassandra, Kaelbling 1995,
section 3).

Programs are tables of their answers, one table for each pool and turn, computed when the pool first occurs. A program
with memory is tabled as if its partner had made the same claim on all of its turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import NotComputable
from dond_marl.game import Act, Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.seats import Decisions, Doubles, Int8s, Partner, Traits, Turns, constant, decide, turns_after
from dond_marl.yardsticks.automata import drawn_personas
from dond_marl.yardsticks.contexts import Contexts, Index, Views, act_numbers, contexts_of, split_points
from dond_marl.yardsticks.odds import NumberedHistories
from dond_marl.yardsticks.replies import Probable, Replies

SAME = 1e-6


class Bank:
    def __init__(self, of, weights=None):
        self.programs: list[Partner] = []
        chances = []
        for number, spec in enumerate(of):
            for each in drawn_personas(seat_occupant(spec)):
                self.programs.append(each.partner)
                chances.append(each.chance * (1 if weights is None else weights[number]))
        sure = [p.traits.deterministic for p in self.programs]
        order = np.argsort(~np.array(sure), kind="stable")
        self.programs = [self.programs[i] for i in order]
        self.chances = np.array(chances)[order] / np.sum(chances)
        self.sure = sum(sure)


class Tables:
    """The answers of all programs over one pool. V views, N splits, D deterministic and S other programs."""

    def __init__(self, bank: Bank, contexts: Contexts, rules: Rules, prior: str, gamma=1.0) -> None:
        self.gamma = gamma
        self.bank, self.contexts, self.rules, self.prior = bank, contexts, rules, prior
        self.points = split_points(contexts.own, contexts.splits)  # [C, N]
        self.width = self.points.shape[1]
        self.rest = contexts.splits.rest[0]
        self._answers = {}
        self._best = {}
        self._replies = [Replies(p, rules, contexts.theirs, prior) for p in bank.programs]

    def answers(self, left):
        """[2N + 1, V, D] int16 and [2N + 1, V, S, 2N + 3]"""
        if left not in self._answers:
            n, views = self.width, self.contexts.theirs.size
            sure = np.empty((2 * n + 1, views, self.bank.sure), dtype=np.int16)
            for m, replies in enumerate(self._replies[: self.bank.sure]):
                if self.bank.programs[m].traits.memoryless:
                    sure[:, :, m] = replies.codes(left).T
                else:
                    sure[:, :, m] = self._repeated(m)[left]
            some = np.empty((2 * n + 1, views, len(self.bank.programs) - self.bank.sure, 2 * n + 3), dtype=np.float32)
            for s, replies in enumerate(self._replies[self.bank.sure :]):
                some[:, :, s] = replies.probs(left, np.arange(views)).transpose(1, 0, 2)
            self._answers[left] = sure, some
        return self._answers[left]

    def _repeated(self, m):
        """The answers of a program if its partner repeats one claim: by turns left, [2N + 1, V]."""
        if not hasattr(self, "_rep"):
            self._rep = {}
        if m in self._rep:
            return self._rep[m]
        program = self.bank.programs[m]
        n, views, turns = self.width, self.contexts.theirs.size, self.rules.max_turns
        half = getattr(program, "insist_is_propose", False)
        claims = n if half else 2 * n
        view, claim = (x.reshape(-1) for x in np.meshgrid(np.arange(views), np.arange(claims), indexing="ij"))
        splits = self.contexts.splits.oA[0]
        counts, values = self.contexts.theirs.counts[view], self.contexts.theirs.utilities[view]
        found = {}
        for seat in (0, 1):
            acts, offers = np.zeros((0, len(view)), np.int8), np.zeros((0, 3, len(view)), np.int8)
            over = np.full(len(view), -1)
            last = n - 1 - claim % n  # takes what is left, if it has agreed at once
            for turn in range(turns):
                if turn % 2 != seat:
                    number = claim
                else:
                    offer = counts - splits[claim % n] if turn else constant(0, np.int8, len(view), 3)
                    t = turns_after(self.rules, self.prior, counts, values, acts, offers, np.asarray(offer))
                    reply = program.act(t)
                    answer = act_numbers(counts, reply.act_type, reply.oA, n)
                    answer = np.where(over >= 0, over, answer)
                    over = np.where(answer >= 2 * n, answer, over)
                    table = np.full((2 * n + 1, views), -1, np.int16)
                    by = answer.reshape(views, claims).T
                    if turn:
                        table[: claims] = by
                        if half:
                            table[n : 2 * n] = by
                    else:
                        table[2 * n] = by[0]
                    found[turns - turn] = table
                    number = last = np.where(answer < 2 * n, answer, last)
                acts = np.concatenate([acts, (number // n).astype(np.int8)[None]])
                offers = np.concatenate([offers, splits[number % n].T[None]])
        self._rep[m] = found
        return found

    def best(self, left):
        """Value of the best claim if the hypothesis is revealed, [C, V, M] float32; 0 at the last turn."""
        if left not in self._best:
            c = self.contexts.size
            out = np.zeros((c, self.contexts.theirs.size, len(self.bank.programs)), np.float32)
            if left > 1:
                for k in range(c):
                    out[k] = self.values(k, left, np.arange(self.contexts.theirs.size)).max(axis=0)
            self._best[left] = out
        return self._best[left]

    def values(self, c, left, views):
        """Value of each claim in each hypothesis, [2N, views, M], left at least 2."""
        n, d = self.width, self.bank.sure
        sure, some = self.answers(left - 1)
        sure, some = sure[: 2 * n, views], some[: 2 * n, views]
        points = self.points[c].astype(np.float32)
        own = np.tile(points, 2)[:, None, None]
        after = np.zeros(2 * n + 3, np.float32)
        after[: 2 * n] = np.tile(points[self.rest], 2)
        worth = after[sure]
        if left > 2:
            best = self.best(left - 2)[c][views]
            worth = np.where(sure < 2 * n, np.float32(self.gamma) * np.maximum(worth, best[:, :d]), np.float32(0))
        else:
            mirror = (sure < 2 * n) & (sure % n == np.tile(self.rest, 2)[:, None, None])
            worth = np.where(mirror, own, 0)
        worth = np.where(sure == 2 * n, own, worth)
        if some.shape[2]:
            more = some[..., 2 * n] * own
            if left > 2:
                then = np.float32(self.gamma) * np.maximum(after[: 2 * n], best[:, d:, None])  # [V, S, 2N]
                more = more + np.einsum("avsx,vsx->avs", some[..., : 2 * n], then)
            else:
                q = np.arange(2 * n)
                for kind in (0, n):
                    more = more + some[q, :, :, self.rest[q % n] + kind] * own
            worth = np.concatenate([worth, more], axis=2)
        return worth

    def weights(self, turns, context, temper, words):
        """[R, V, M] unnormalised"""
        n = self.width
        prior = np.zeros((self.contexts.size, self.contexts.theirs.size))
        np.add.at(prior, (np.arange(self.contexts.size)[:, None], self.contexts.types), self.contexts.weights)
        w = prior[context][:, :, None] * self.bank.chances
        d = self.bank.sure
        for query, answer, left in NumberedHistories(turns).answers(n):
            sure, some = self.answers(left)
            if words:
                like = sure[query] == answer[:, None, None]
                odds = some[query, :, :, answer]
            else:
                a = (answer % n)[:, None, None]
                s = sure[query]
                like = ((s % n) == a) & (s < 2 * n)
                odds = some[query, :, :, answer % n] + some[query, :, :, answer % n + n]
            p = np.concatenate([like, odds], axis=2)
            w = w * ((1 - temper) * p + temper / (n * (2 if words else 1)))
            w /= w.sum(axis=(1, 2), keepdims=True)
        return w


class BayesReply:
    traits = Traits(deterministic=True)

    def __init__(self, bank: Sequence[Spec | Partner], temper: float = 0.1, words: bool = False, weights=None, deep=True, gamma=1.0) -> None:
        self.bank, self.temper, self.words, self.deep = Bank(bank, weights), temper, words, deep
        self._tables, self.gamma = {}, gamma

    def __getstate__(self):
        return {**self.__dict__, "_tables": {}}

    def act(self, turns: Turns) -> Decisions:
        act, oA = np.zeros(turns.size, np.int8), np.zeros((turns.size, 3), np.int8)
        pools, which = np.unique(turns.counts, axis=0, return_inverse=True)
        for number in range(len(pools)):
            rows = np.flatnonzero(which.reshape(-1) == number)
            act[rows], oA[rows] = self._act(turns.rows(rows))
        return decide(act, oA)

    def _act(self, turns):
        key = turns.rules, turns.prior, turns.counts[0].tobytes()
        if key not in self._tables:
            from dond_marl.yardsticks.contexts import lewis_beliefs, lewis_pools, _lewis_contexts
            from dond_marl.scenarios.sources import DIGIT
            keys = _lewis_contexts()[0]
            own = np.stack([keys // DIGIT**digit % DIGIT for digit in (2, 1, 0)], axis=1).astype(np.int8)
            some = (lewis_pools() == turns.counts[0]).all(axis=1)
            own = own[some]
            self._tables[key] = Tables(self.bank, contexts_of(turns.prior, lewis_pools()[some], own), turns.rules, turns.prior, self.gamma), {o.tobytes(): i for i, o in enumerate(own)}
        tables, places = self._tables[key]
        context = np.array([places[o.tobytes()] for o in turns.my_utilities])
        left, n = turns.rules.max_turns - turns.turns_taken, tables.width
        claim = NumberedHistories(turns).claim(1 - turns.seat, n)
        agree = np.where(claim < n, tables.points[context, tables.rest[np.minimum(claim, n - 1)]], -1.0)
        choice = np.full(turns.size, 2 * n)
        if left > 1:
            w = tables.weights(turns, context, self.temper, self.words)
            for c in np.unique(context):
                rows = np.flatnonzero(context == c)
                views = np.unique(tables.contexts.types[c][tables.contexts.weights[c] > 0])
                values = tables.values(c, left, views)  # [2N, K, M]
                flat = w[rows][:, views].reshape(len(rows), -1).astype(np.float32)
                if self.deep and left > 3:
                    worth = self._deep(tables, c, left, views, w[rows][:, views])
                else:
                    worth = np.einsum("rh,ah->ra", flat, values.reshape(2 * n, -1))
                taste = np.tile(tables.points[c], 2)
                best = worth.max(axis=1)
                chosen = np.where(worth >= best[:, None] - 1e-4, taste, -1).argmax(axis=1)
                choice[rows] = np.where(agree[rows] >= best - 1e-4, 2 * n, chosen)
        agreed = (choice == 2 * n) & turns.act_mask[:, Act.AGREE]
        choice = np.where(choice == 2 * n, n - 1, choice)
        return np.where(agreed, Act.AGREE, choice // n).astype(np.int8), tables.contexts.splits.oA[0][choice % n] * ~agreed[:, None]

    def _deep(self, tables, c, left, views, w):
        """Two steps: after each answer, the best act by revealed values. [R, 2N]"""
        n, d = tables.width, self.bank.sure
        sure, some = tables.answers(left - 1)
        sure, some = sure[: 2 * n, views], some[: 2 * n, views]
        later = tables.values(c, left - 2, views)  # [2N, K, M]
        points, agree = tables.points[c], tables.points[c][tables.rest]
        out = np.zeros((len(w), 2 * n))
        flat_later = later[:, :, :d].reshape(2 * n, -1).T  # [H, 2N]
        more_later = later[:, :, d:].reshape(2 * n, -1).T
        for r, weight in enumerate(w):
            wd, ws = weight[:, :d].reshape(-1), weight[:, d:].reshape(-1)
            keep = wd > 1e-4 * weight.sum()
            keeps = ws > 1e-4 * weight.sum()
            L, W = flat_later[keep] * wd[keep, None], wd[keep]
            Ls, Ws = more_later[keeps], ws[keeps]
            for a in range(2 * n):
                ans = sure[a].reshape(-1)[keep]
                P = some[a].reshape(-1, 2 * n + 3)[keeps] * Ws[:, None]  # [Hs, X]
                total = np.bincount(ans, W, 2 * n + 3) + P.sum(0)
                out[r, a] = total[2 * n] * points[a % n]
                onehot = np.zeros((2 * n, len(ans)), np.float32)
                o = ans < 2 * n
                onehot[ans[o], np.flatnonzero(o)] = 1
                then = onehot @ L + P[:, : 2 * n].T @ Ls  # [X, 2N]
                out[r, a] += tables.gamma * np.maximum(then.max(axis=1), total[: 2 * n] * np.tile(agree, 2)).sum()
        return out
