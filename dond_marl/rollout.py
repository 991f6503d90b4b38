"""The play loop: two occupants act in turn on a block of scenarios until every game has ended.

Training, tournaments, evaluation and transcripts all use it, so that what is measured is what is played. A person's
game at a table takes the same turns one by one (:mod:`dond_marl.envs.turn`); a test holds both equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dond_marl.batch import GameBatch, Games, OnIllegal
from dond_marl.errors import Blame, RunFailure, error_line
from dond_marl.game import SEATS, Rules
from dond_marl.randomness import NOISE_WIDTH, generator
from dond_marl.scenarios.sources import Scenarios, join
from dond_marl.seats import Doubles, Floats, HintSource, Partner, Turns, no_noise


class OccupantError(RunFailure):
    """An occupant raised an error or answered something unplayable. ``seat``: its seat; ``__cause__``: the error."""

    def __init__(self, seat: int, cause: BaseException) -> None:
        super().__init__(f"the occupant of {SEATS[seat]} failed: {error_line(cause)}")
        self.seat = seat


@dataclass(frozen=True, slots=True)
class Block:
    """Scenarios played together, and the index of their random numbers under the seed."""

    scenarios: Scenarios
    index: tuple[int, ...] = ()


class Noise:
    """The uniform random numbers of blocks of games, a function of (seed, index, turn, game) and of nothing else."""

    def __init__(self, seed: int, index: tuple[int, ...], size: int) -> None:
        self._seed, self._blocks = seed, [(index, size)]
        self._of_game: dict[int, Doubles] = {}

    @classmethod
    def of_blocks(cls, seed: int, blocks: Sequence[Block]) -> Noise:
        """The noise of several blocks, concatenated in their order."""
        noise = cls(seed, (), 0)
        noise._blocks = [(block.index, block.scenarios.size) for block in blocks]
        return noise

    def turn_noise(self, turn: int) -> Doubles:
        """Fresh uniforms of one turn, ``[N, 8]``."""
        return self._draw("turn noise", turn)

    def hint_noise(self, turn: int) -> Doubles:
        """Fresh uniforms for hints on one turn, ``[N, 8]``: independent of those of the hinted seat."""
        return self._draw("hint noise", turn)

    def game_noise(self, seat: int) -> Doubles:
        """Private uniforms of a seat, ``[N, 8]``, constant through each game."""
        if seat not in self._of_game:
            self._of_game[seat] = self._draw("game noise", seat)
        return self._of_game[seat]

    def _draw(self, stream: str, number: int) -> Doubles:
        drawn = [
            generator(self._seed, stream, *index, number).random((size, NOISE_WIDTH)) for index, size in self._blocks
        ]
        return drawn[0] if len(drawn) == 1 else np.concatenate(drawn)


def rollout(
    occupants: tuple[Partner, Partner],
    scenarios: Scenarios,
    rules: Rules = Rules(),
    *,
    seed: int,
    index: tuple[int, ...] = (),
    reveal_partner_utilities: bool = False,
    illegal: OnIllegal = "raise",
    hints: tuple[HintSource | None, HintSource | None] = (None, None),
) -> Games:
    """Play every scenario once, ``occupants[0]`` in ``seat_0``. Raises :class:`OccupantError`.

    ``(seed, index)``: determines the random numbers. ``illegal``: whether an illegal act raises or forfeits its game.
    ``hints``: the hint source of each seat.
    """
    table = GameBatch(scenarios, rules, reveal_partner_utilities=reveal_partner_utilities, illegal=illegal)
    return _play(table, occupants, Noise(seed, index, scenarios.size), hints)


def rollout_blocks(
    occupants: tuple[Partner, Partner],
    blocks: Sequence[Block],
    rules: Rules = Rules(),
    *,
    seed: int,
    reveal_partner_utilities: bool = False,
    hints: tuple[HintSource | None, HintSource | None] = (None, None),
) -> list[Games]:
    """Play several blocks in one batch: equal to one :func:`rollout` per block, with fewer calls to the occupants."""
    sizes = [block.scenarios.size for block in blocks]
    together = join([block.scenarios for block in blocks])
    table = GameBatch(together, rules, reveal_partner_utilities=reveal_partner_utilities)
    games, ends = _play(table, occupants, Noise.of_blocks(seed, blocks), hints), np.cumsum(sizes).tolist()
    return [games.rows(slice(start, end)) for start, end in zip([0, *ends], ends, strict=False)]


def _play(
    table: GameBatch,
    occupants: tuple[Partner, Partner],
    noise: Noise,
    hints: tuple[HintSource | None, HintSource | None],
) -> Games:
    with Blame(lambda error: OccupantError(table.seat, error)):
        while table.open:
            occupant = occupants[table.seat]
            source = hints[table.seat]
            turns = observe_turns(table, noise, deterministic=occupant.traits.deterministic)
            if source is not None:
                turns = turns._replace(hint_features=_hint_features(source, turns, table, noise))
            table.step(occupant.act(turns))
    return table.games()


def _hint_features(source: HintSource, turns: Turns, table: GameBatch, noise: Noise) -> Floats:
    size = table.open
    noise_rows = (
        no_noise(size) if source.deterministic else np.take(noise.hint_noise(table.turns_taken), table.live, axis=0)
    )
    shown = turns._replace(noise=noise_rows, game_noise=no_noise(size))
    if source.privileged:
        shown = shown._replace(partner_utilities=table.partner_utilities())
    return source.hint_features(shown)


def observe_turns(table: GameBatch, noise: Noise, *, deterministic: bool) -> Turns:
    """The turns of the seat to move in every open game. ``deterministic``: leave its noise out (NaN)."""
    if deterministic:
        return table.turns()
    live = table.live
    return table.turns(
        np.take(noise.turn_noise(table.turns_taken), live, axis=0), np.take(noise.game_noise(table.seat), live, axis=0)
    )
