"""A solved policy as a file, and the answers of any seat read from it.

A file holds a note, one line of JSON, and the chances of every act as 16-bit floats, those under :data:`LEAST` left
out, for one view of each group that differ in the items' names alone; the whole is compressed. The note says how the
policy was made, what it pays, and the SHA-256 of the chances.

The same equilibria where DISAGREE only refuses (``disagree="rejects"``): how they are played, and what that changes.

A policy of :mod:`.tree` needs no refusal. Under this rule it is played as follows.

==============================  =====================================================================================
It walks away                   END; on the last turn a claim that does not add up with the partner's.
It hears DISAGREE               It answers as if the partner had claimed everything, and says END where it would agree
                                or walk away.
It hears DISAGREE on its last   It answers as if the partner had made its latest claim again; to agree is to claim
turn                            what that leaves.
==============================  =====================================================================================

Against who plays so, DISAGREE pays nobody more than a claim of everything, or on the turn before the last than the own
latest claim made again. END pays no more than AGREE. So no act of this rule pays more than one that
``disagree="ends"`` has as well, but for one corner: END is a deal where both latest claims add up, that is where the
policy said what its partner had left or leaves now. :func:`added` counts that: exactly for the policy against itself,
and by a bound for any response, whatever that remembers. Tests compare all of it with every act of
``dond_marl/game.py``.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from dond_marl.errors import InputError, quote
from dond_marl.game import Disagree, as_integer
from dond_marl.seats import Doubles, Int8s
from dond_marl.yardsticks.beliefs import numbers_of
from dond_marl.yardsticks.contexts import Index, splits_of
from dond_marl.yardsticks.equilibria.tree import Policy, Pool, Tree, even, lewis_pools

Pair = tuple[float, float]  # of seat_0 and seat_1, or the least and the most that something can be


class Added(NamedTuple):
    """What END closes under ``disagree="rejects"``, over the pool's share of the games."""

    paid: Pair  # what each seat gets more, where both play the policy; expected points of ten, exact
    most: Pair  # no response of a seat gets more than the best one under "ends" and this
    closes: tuple[float, ...]  # how often games close so on each turn, where both play the policy


def added(tree: Tree, policy: Policy) -> Added:
    """What a policy that remembers the last offer pays and leaves more where DISAGREE only refuses.

    Raises :class:`~dond_marl.errors.InputError` for another memory.
    """
    if tree.memory != "last offer":
        raise InputError(
            f"only a policy with the memory 'last offer' in the game of own points is known to be one where DISAGREE "
            f"refuses; got the memory {tree.memory!r}"
        )
    n, points, reach = tree.width, tree.pool.points, tree.reach(policy)
    every = np.arange(n)
    rest = n - 1 - every
    paid, most, closes = [0.0, 0.0], [0.0, 0.0], [0.0] * tree.turns
    for turn in range(2, tree.turns - 1):  # on which END may close what the mover claimed two turns before
        mover, other = turn % 2, 1 - turn % 2
        said, answered = policy[turn - 2][..., :n], policy[turn - 1][:, every, rest]
        walks = policy[turn][:, rest, n + 1]  # [V, N] after what the mover claimed was left to it
        claimed = np.einsum("moh,mhs->mos", reach[turn - 2], said, optimize=True)
        closed = claimed * answered[None] * walks[:, None]  # [V, V, N]
        closes[turn] = float(closed.sum())
        paid[mover] += float((closed * points[:, None]).sum())
        paid[other] += float((closed * points[None, :, ::-1]).sum())
        prior = tree.pool.prior if other == 0 else tree.pool.prior.T  # [V, V] the responder's view first
        left = np.einsum("khs,ks,vs->vkh", said, walks, points[:, ::-1], optimize=True).max(axis=2)
        if turn > 2:  # it claimed what the responder's claim leaves, and is refused
            ends = policy[turn][:, n - 1, n] + policy[turn][:, n - 1, n + 1]
            back = np.maximum(said[:, every, rest], said[:, n - 1, rest])
            left = left + np.einsum("ks,k,vs->vks", back, ends, points, optimize=True).max(axis=2)
        most[other] += float((prior * left).sum())
    return Added((paid[0], paid[1]), (most[0], most[1]), tuple(closes))


LEAST = 1e-4  # a chance below which an act is left out
SMALL = 0.015  # points of ten: the temperature of the tables of every horizon
TEMPERATURES = dict.fromkeys(range(1, 10), (SMALL,)) | {10: (SMALL, 0.1, 0.5)}
NONE = -1  # in every place of ``heard`` where nothing was said yet


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A policy for games of ``turns`` turns, which remembers the last offer alone."""

    note: dict[str, Any]
    policies: tuple[list[Doubles], ...]  # for each of :func:`lewis_pools`, as in :mod:`.tree`
    disagree: Disagree = "ends"  # the rule that the figures are for; "rejects": see :mod:`.refusing`

    @staticmethod
    def load(turns: int = 10, temperature: float = SMALL, disagree: Disagree = "ends") -> Equilibrium:
        """The shipped table, one for both rules; raises :class:`~dond_marl.errors.InputError` where there is none."""
        number = as_integer(turns)
        if number not in TEMPERATURES or temperature not in TEMPERATURES[number]:
            raise InputError(
                f"no table of an equilibrium has turns={quote(turns)}, temperature={quote(temperature)}; there are: "
                f"{'; '.join(f'turns={t}: ' + ', '.join(map(str, some)) for t, some in TEMPERATURES.items())}"
            )
        return _shipped(number, float(temperature), disagree)

    @property
    def turns(self) -> int:
        """Acts of both seats together, of the games it is for."""
        return int(self.note["turns"])

    @property
    def values(self) -> Pair:
        """What it pays seat_0 and seat_1 against itself, expected points of ten over all 5,295 scenarios."""
        first, second = (value + more for value, more in zip(self.note["values"], self.more.paid, strict=True))
        return first, second

    @property
    def deals(self) -> float:
        """The share of games that close with a deal."""
        return float(self.note["deals"]) + sum(self.more.closes)

    @property
    def gains(self) -> tuple[Pair, Pair]:
        """What a best response that remembers everything gains in each seat, at least and at most."""
        first, second = (
            (max(low - value, 0.0), high - value)
            for value, (low, high) in zip(self.values, self.responses, strict=True)
        )
        return first, second

    @property
    def responses(self) -> tuple[Pair, Pair]:
        """What that best response gets in each seat, at least and at most; both the same up to four turns."""
        note = zip(self.note["values"], self.note["gain_remembering"], self.more.most, strict=True)
        first, second = ((value + least, value + most + more) for value, (least, most), more in note)
        return first, second

    @cached_property
    def more(self) -> Added:
        """What the rule changes, over all pools: nothing where DISAGREE ends the game."""
        if self.disagree == "ends":
            return Added((0.0, 0.0), (0.0, 0.0), (0.0,) * self.turns)
        found = [
            added(Tree(pool, self.turns), policy) for pool, policy in zip(lewis_pools(), self.policies, strict=True)
        ]
        paid, most, closes = (np.sum(part, axis=0).tolist() for part in zip(*found, strict=True))
        return Added(tuple(paid), tuple(most), tuple(closes))

    def knows(self, counts: Int8s, utilities: Int8s) -> Index:
        """The number of each view among those that ``lewis`` holds, ``[B]``; -1 for others."""
        keys, _, _ = self._views
        wanted = numbers_of(*_in_order(counts, utilities))
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, place, -1)

    def probs(self, counts: Int8s, utilities: Int8s, heard: Int8s, left: Index) -> Doubles:
        """The chance of each act, ``[B, N + 2]``, of seats with the views ``counts[B, 3]``, ``utilities[B, 3]``.

        ``heard[B, 3]`` is what the partner's last claim keeps, -1 where nothing was said yet; ``left[B]`` turns are
        left, this one included. The acts: PROPOSE of each split of the row's own pool, in the order of
        :func:`dond_marl.yardsticks.contexts.splits_of` and 0 beyond their number, then AGREE, then DISAGREE.

        Raises :class:`~dond_marl.errors.InputError` for a view that no scenario of ``lewis`` holds, and for talk that
        no game of :attr:`turns` turns has.
        """
        number, turn = self.knows(counts, utilities), self.turns - np.asarray(left, dtype=np.int64)
        if (number < 0).any():
            row = int(np.flatnonzero(number < 0)[0])
            raise InputError(
                f"an equilibrium knows the views of 'lewis' alone; got the pool {tuple(counts[row].tolist())} with the "
                f"values {tuple(utilities[row].tolist())}"
            )
        silent = np.asarray((np.asarray(heard) < 0).any(axis=1))
        odd = np.asarray((turn < 0) | (turn >= self.turns) | (silent ^ (turn == 0)))
        if odd.any():
            row = int(np.flatnonzero(odd)[0])
            raise InputError(
                f"in a game of {self.turns} turns somebody has claimed when fewer than {self.turns} are left, and not "
                f"before; got left={int(left[row])} and heard={tuple(np.asarray(heard)[row].tolist())}"
            )
        named = np.argsort(counts, axis=1, kind="stable")
        splits = splits_of(counts)
        n, rows = splits.oA.shape[1], np.arange(len(counts))[:, None]
        sorted_counts = np.take_along_axis(counts, named, axis=1)
        theirs = _split_numbers(sorted_counts, np.take_along_axis(np.where(silent[:, None], 0, heard), named, axis=1))
        said = _split_numbers(
            sorted_counts[:, None], splits.oA[rows[:, :, None], np.arange(n)[None, :, None], named[:, None]]
        )
        chances = np.zeros((len(counts), n + 2))
        _, pool_of, view_of = self._views
        for pool, at in sorted(set(zip(pool_of[number].tolist(), turn.tolist(), strict=True))):
            some = np.flatnonzero((pool_of[number] == pool) & (turn == at))
            found = self.policies[pool][at][view_of[number[some]], theirs[some]]  # [S, splits + 2]
            inside = np.arange(n) < splits.number[some][:, None]
            chances[some, :n] = np.take_along_axis(found, said[some], axis=1) * inside
            chances[some, n:] = found[:, -2:]
        return chances

    @cached_property
    def _views(self) -> tuple[Index, Index, Index]:
        """The numbers of all views in the order of the pools' items, ascending, whose pool and which view each is."""
        pools = lewis_pools()
        keys = np.concatenate([numbers_of(np.tile(pool.counts, (len(pool.values), 1)), pool.values) for pool in pools])
        pool = np.repeat(np.arange(len(pools)), [len(each.values) for each in pools])
        view = np.concatenate([np.arange(len(each.values)) for each in pools])
        order = np.argsort(keys)
        return keys[order], pool[order], view[order]


def rounded(pool: Pool, policy: Policy) -> list[Doubles]:
    """What is left of a policy in a file: the same for all names of the items, without what is nearly never said."""
    views = _representatives(pool)
    return _spread(pool, [_short(chances)[views].astype(np.float64) for chances in even(pool, policy)])


def pack(note: dict[str, Any], policies: Sequence[Policy]) -> bytes:
    """The file of a policy for each of :func:`lewis_pools`."""
    parts = []
    for pool, policy in zip(lewis_pools(), policies, strict=True):
        parts += [_short(chances)[_representatives(pool)].tobytes() for chances in even(pool, policy)]
    body = b"".join(parts)
    head = json.dumps({**note, "sha256": hashlib.sha256(body).hexdigest()}, sort_keys=True).encode()
    return lzma.compress(head + b"\n" + body, preset=9)


def unpack(data: bytes) -> Equilibrium:
    """The inverse of :func:`pack`; raises :class:`~dond_marl.errors.InputError` for a damaged file."""
    try:
        head, _, body = lzma.decompress(data).partition(b"\n")
        note = json.loads(head)
    except (lzma.LZMAError, ValueError) as error:
        raise InputError(
            f"the file is no table of an equilibrium ({error}); make it again: dond ship equilibria"
        ) from None
    if hashlib.sha256(body).hexdigest() != note.get("sha256"):
        raise InputError(
            "the table of an equilibrium is damaged: its SHA-256 differs; make it again: dond ship equilibria"
        )
    numbers, at, policies = np.frombuffer(body, dtype="<f2"), 0, []
    for pool in lewis_pools():
        tree, views, policy = Tree(pool, note["turns"]), _representatives(pool), []
        for turn in range(tree.turns):
            shape = len(views), tree.heard(turn), tree.width + 2
            size = int(np.prod(shape))
            policy.append(numbers[at : at + size].reshape(shape).astype(np.float64))
            at += size
        policies.append(_spread(pool, policy))
    return Equilibrium(note, tuple(policies))


def file_name(turns: int, temperature: float) -> str:
    """Of a shipped table."""
    return f"turns{turns}_temperature{temperature}.xz"


@lru_cache(maxsize=16)
def _shipped(turns: int, temperature: float, disagree: Disagree) -> Equilibrium:
    if disagree != "ends":
        return replace(_shipped(turns, temperature, "ends"), disagree=disagree)
    return unpack((files(__package__) / "tables" / file_name(turns, temperature)).read_bytes())


def _in_order(counts: Int8s, utilities: Int8s) -> tuple[Int8s, Int8s]:
    """The views with their items in the order of ascending counts."""
    named = np.argsort(counts, axis=1, kind="stable")
    return np.take_along_axis(counts, named, axis=1), np.take_along_axis(utilities, named, axis=1)


def _split_numbers(counts: Int8s, oA: Int8s) -> Index:
    """Which split each ``oA[..., 3]`` of the pools is, ``[...]``, in lexicographic order."""
    first, second, third = np.moveaxis(oA.astype(np.int64), -1, 0)
    numbers: Index = (first * (counts[..., 1] + 1) + second) * (counts[..., 2] + 1) + third
    return numbers


def _representatives(pool: Pool) -> Index:
    """The first view of each group that differ in the items' names alone, ``[R]``."""
    first = np.minimum.reduce([views for views, _ in pool.renamings])
    return np.flatnonzero(first == np.arange(len(first)))


def _spread(pool: Pool, policy: Policy) -> list[Doubles]:
    """From the representatives to all views; each row sums to 1."""
    which = _representatives(pool)
    every = []
    for chances in policy:
        full = np.zeros((len(pool.values), *chances.shape[1:]))
        for views, splits in pool.renamings:
            acts = np.concatenate([splits, len(splits) + np.arange(2)])
            heard = splits if chances.shape[1] > 1 else np.zeros(1, dtype=np.int64)
            for source, chance in zip(which, chances, strict=True):
                full[views[source], heard[:, None], acts] = chance
        every.append(full / full.sum(axis=-1, keepdims=True))
    return every


def _short(chances: Doubles) -> np.ndarray[Any, np.dtype[np.float16]]:
    return np.where(chances < LEAST, 0, chances).astype("<f2")
