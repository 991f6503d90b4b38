"""One-ply search: every act is tried in simulated games, which a model of the partner plays to the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import GameBatch
from dond_marl.game import Act
from dond_marl.occupants import SpecLike, seat_occupant
from dond_marl.randomness import NOISE_WIDTH, derive_uniforms
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Decisions, Doubles, Int8s, Partner, Rows, Traits, Turns, decide, expensive_to_query
from dond_marl.solvers.contexts import partner_beliefs
from dond_marl.solvers.recognition import recognizable_personas, recognize
from dond_marl.splits import action_at, action_count, action_index, legal_action_mask
from partners.parameters import check_whole_number

MOST_SIMULATIONS = 4096
AT_ONCE = 1 << 16  # approximate number of games simulated in one batch
_TYPES, _DRAWS, _TURNS, _GAMES = range(4)  # streams of uniforms
_UNIFORMS = np.arange(NOISE_WIDTH)


class Rollouts:
    """Tries each act in simulated games, and plays the one with the best mean.

    Source: dialogue rollouts (Lewis et al. 2017, *Deal or No Deal?*, section 4.3) at the level of acts; one step of the
    rollout algorithm (Tesauro, Galperin 1996). In a simulated game the act is played, then ``model`` plays the
    partner's seat and ``own`` this one's to the end. The seat's own values are known; the partner's are drawn from the
    posterior of the scenario prior given the history, if the model has probabilities, else from the prior. All acts are
    tried with the same noise; of equally good ones the first in the numbering of :mod:`dond_marl.splits` is played,
    which keeps least.

    - ``model``: an occupant on this machine, as the partner.
    - ``simulations``: 1..4096, simulated games per act.
    - ``candidates``: 0..4096, number of acts sampled from ``own`` as candidates, as in the paper; 0: every legal act.
    - ``own``: an occupant on this machine, for this seat's later turns; None for the model.
    """

    def __init__(
        self,
        model: SpecLike | Partner,
        simulations: int = 16,
        candidates: int = 0,
        own: SpecLike | Partner | None = None,
    ) -> None:
        check_whole_number("simulations", simulations, 1, MOST_SIMULATIONS)
        check_whole_number("candidates", candidates, 0, MOST_SIMULATIONS)
        self.model = seat_occupant(model)
        self.own_policy = self.model if own is None else seat_occupant(own)
        for name, partner in (("model", self.model), ("own", self.own_policy)):
            if expensive_to_query(partner.traits):
                raise ValueError(f"{name} is queried thousands of times per act; use an occupant without costs")
        self.simulations, self.candidates = simulations, candidates
        self._names = [spec if isinstance(spec, str) else repr(spec) for spec in (model, own)]

    def __repr__(self) -> str:
        model, own_policy = self._names
        return (
            f"Rollouts(model={model!r}, simulations={self.simulations}, candidates={self.candidates}"
            f"{'' if own_policy == 'None' else f', own={own_policy!r}'})"
        )

    @property
    def traits(self) -> Traits:
        parts = (self.model.traits, self.own_policy.traits)
        return Traits(
            learned=any(traits.learned for traits in parts), privileged=any(traits.privileged for traits in parts)
        )

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; all simulations unfold noise 0."""
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        acts = self.candidates or int(action_count(int(turns.counts.max(initial=0))) // 4)
        step = max(AT_ONCE // (self.simulations * acts), 1)
        for first in range(0, turns.size, step):
            rows = slice(first, first + step)
            act[rows], oA[rows] = self._best(turns.rows(rows))
        return decide(act, oA)

    def _best(self, turns: Turns) -> tuple[Int8s, Int8s]:
        most = int(turns.counts.max())
        row, number = self._candidates(turns, most)
        points = self._simulate(turns, row, *action_at(number, most))
        # The first of a row's best: sorted by row, then by falling points, then by number.
        order = np.lexsort((number, -points, row))
        _, first = np.unique(row[order], return_index=True)
        return action_at(number[order[first]], most)

    def _candidates(self, turns: Turns, most: int) -> tuple[Rows, Rows]:
        """The rows of P acts and their numbers, sorted by row and then by number."""
        if not self.candidates:
            legal = legal_action_mask(turns.counts, turns.act_mask[:, Act.AGREE], most)
            row, number = (places.astype(np.int64, copy=False) for places in np.nonzero(legal))
            return row, number
        row = np.repeat(np.arange(turns.size), self.candidates)
        draw = np.tile(np.arange(self.candidates), turns.size)[:, None]
        repeated = turns.rows(row)
        noise = derive_uniforms(repeated.noise[:, :1], _DRAWS, draw, _UNIFORMS)
        sampled = self.own_policy.act(repeated._replace(noise=noise))
        number = action_index(sampled.act_type, sampled.oA, most)
        row, number = np.divmod(np.unique(row * action_count(most) + number), action_count(most))
        return row, number

    def _simulate(self, turns: Turns, row: Rows, act: Int8s, oA: Int8s) -> NDArray[np.int64]:
        """Own points of P acts, summed over their simulations, ``[P]``."""
        times, seat = self.simulations, turns.seat
        types = self._types(turns)
        game, number = np.repeat(row, times), np.tile(np.arange(times), len(row))
        utilities = np.stack([turns.my_utilities[game], types[game, number]], axis=1)
        noise, table = (
            turns.noise[game, :1],
            _simulated_games(turns, game, utilities if seat == 0 else utilities[:, ::-1]),
        )
        table.step(decide(np.repeat(act, times), np.repeat(oA, times, axis=0)))
        index = number[:, None]
        while table.open:
            partner, live = (self.own_policy if table.seat == seat else self.model), table.live
            noises: tuple[Doubles, ...] = ()
            if not partner.traits.deterministic:
                streams = ((_TURNS, table.turns_taken), (_GAMES, table.seat))
                noises = tuple(derive_uniforms(noise[live], *stream, index[live], _UNIFORMS) for stream in streams)
            table.step(partner.act(table.turns(*noises)))
        points: NDArray[np.int64] = table.games().scores[:, seat].reshape(-1, times).sum(axis=1, dtype=np.int64)
        return points

    def _types(self, turns: Turns) -> Int8s:
        """The partner's values in each of S simulations, ``[B, S, 3]``: a stratified sample of the posterior."""
        held = partner_beliefs(turns)
        types, weights = held.types, held.weights
        if turns.turns_taken > 1 - turns.seat and recognizable_personas(self.model) is not None:
            recognition = recognize([self.model], turns)
            types, weights = recognition.types[recognition.node], recognition.chances[recognition.node, 0]
        spread = np.arange(self.simulations) + derive_uniforms(turns.noise[:, :1], _TYPES, np.arange(self.simulations))
        ends = np.cumsum(weights, axis=1)
        ends /= ends[:, -1:]
        kind = (spread[:, :, None] / self.simulations >= ends[:, None]).sum(axis=2)  # [B, S]
        last = (weights > 0).shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
        kind = np.minimum(kind, last[:, None])
        return np.take_along_axis(types, kind[:, :, None], axis=1)


def _simulated_games(turns: Turns, rows: Rows, utilities: Int8s) -> GameBatch:
    """The games of ``rows[N]`` replayed to their present turn, with values ``utilities[N, 2, 3]``."""
    table = GameBatch(
        Scenarios(turns.counts[rows], np.ascontiguousarray(utilities), turns.prior),
        turns.rules,
        reveal_partner_utilities=bool(turns.partner_utilities.any()),
    )
    act, oA = turns.history.act, turns.history.oA
    for turn in range(turns.turns_taken):
        table.step(decide(act[rows, turn], oA[rows, turn]))
    return table
