"""The one play loop: two occupants, a block of scenarios, one after the other until every game has ended.

Training, tournaments, evaluation, transcripts and human play all come through here, so what is measured is what is
played. Practice on a device alone has a loop of its own, which tests hold equal to this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dond_marl.batch import Games, OnIllegal, Table
from dond_marl.errors import RunFailure
from dond_marl.game import SEATS, Rules
from dond_marl.randomness import NOISE_WIDTH, generator
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Doubles, Floats, Partner, Turns, Whisper, no_noise


class OccupantError(RunFailure):
    """An occupant raised, or answered what cannot be played; ``seat`` says which, ``__cause__`` why."""

    def __init__(self, seat: int, cause: BaseException) -> None:
        super().__init__(f"the occupant of {SEATS[seat]} failed: {one_line(cause)}")
        self.seat = seat


def one_line(error: BaseException, length: int = 300) -> str:
    """The kind and the message of somebody else's error, printable on one line whatever it holds."""
    try:
        message = str(error)[: 4 * length]  # before it is gone through letter by letter: it may have millions
    except Exception:  # noqa: BLE001  # even its text is somebody else's code
        message = "(its message cannot be read)"
    text = f"{type(error).__name__}: {message}"
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:length]


class Noise:
    """The uniforms of a block of games, a function of (seed, index, turn, game): who else plays changes nothing."""

    def __init__(self, seed: int, index: tuple[int, ...], size: int) -> None:
        self._seed, self._index, self._size = seed, index, size
        self._of_game: dict[int, Doubles] = {}

    def of_turn(self, turn: int) -> Doubles:
        """Fresh uniforms of one turn, ``[N, 8]``."""
        return generator(self._seed, "turn noise", *self._index, turn).random((self._size, NOISE_WIDTH))

    def of_hint(self, turn: int) -> Doubles:
        """Fresh uniforms for whoever advises on a turn, ``[N, 8]``: advice must not share luck with the advised."""
        return generator(self._seed, "hint noise", *self._index, turn).random((self._size, NOISE_WIDTH))

    def of_game(self, seat: int) -> Doubles:
        """The seat's private uniforms, constant through each game, ``[N, 8]``."""
        if seat not in self._of_game:
            rng = generator(self._seed, "game noise", *self._index, seat)
            self._of_game[seat] = rng.random((self._size, NOISE_WIDTH))
        return self._of_game[seat]


class SideBySide:
    """The uniforms of several blocks, one after the other, each block's its own."""

    def __init__(self, blocks: Sequence[Noise]) -> None:
        self._blocks = blocks

    def of_turn(self, turn: int) -> Doubles:
        return np.concatenate([block.of_turn(turn) for block in self._blocks])

    def of_hint(self, turn: int) -> Doubles:
        return np.concatenate([block.of_hint(turn) for block in self._blocks])

    def of_game(self, seat: int) -> Doubles:
        return np.concatenate([block.of_game(seat) for block in self._blocks])


@dataclass(frozen=True, slots=True)
class Block:
    """Games that are played together, and what names their randomness under the seed."""

    scenarios: Scenarios
    index: tuple[int, ...] = ()


def rollout(
    occupants: tuple[Partner, Partner],
    scenarios: Scenarios,
    rules: Rules = Rules(),
    *,
    seed: int,
    index: tuple[int, ...] = (),
    prior: str = "",
    reveal_partner_utilities: bool = False,
    illegal: OnIllegal = "raise",
    whispers: tuple[Whisper | None, Whisper | None] = (None, None),
) -> Games:
    """Play every scenario once, ``occupants[0]`` opening. Raises :class:`OccupantError`.

    ``(seed, index)`` names the block's randomness; ``prior`` is the scenario distribution as the seats know it;
    ``whispers`` says who advises which seat.
    """
    table = Table(scenarios, rules, prior=prior, reveal_partner_utilities=reveal_partner_utilities, illegal=illegal)
    return _played(table, occupants, Noise(seed, index, scenarios.size), whispers)


def rollout_blocks(
    occupants: tuple[Partner, Partner],
    blocks: Sequence[Block],
    rules: Rules = Rules(),
    *,
    seed: int,
    prior: str = "",
    reveal_partner_utilities: bool = False,
    whispers: tuple[Whisper | None, Whisper | None] = (None, None),
) -> list[Games]:
    """The same as a :func:`rollout` of each block, at once: whom it costs much to ask at all is asked less often."""
    sizes = [block.scenarios.size for block in blocks]
    together = Scenarios(*map(np.concatenate, zip(*(block.scenarios for block in blocks), strict=True)))
    noise = SideBySide([Noise(seed, block.index, size) for block, size in zip(blocks, sizes, strict=True)])
    table = Table(together, rules, prior=prior, reveal_partner_utilities=reveal_partner_utilities)
    games, ends = _played(table, occupants, noise, whispers), np.cumsum(sizes).tolist()
    return [games.rows(slice(start, end)) for start, end in zip([0, *ends], ends, strict=False)]


def _played(
    table: Table,
    occupants: tuple[Partner, Partner],
    noise: Noise | SideBySide,
    whispers: tuple[Whisper | None, Whisper | None],
) -> Games:
    while table.open:
        occupant = occupants[table.seat]
        whisper = whispers[table.seat]
        try:
            turns = see(table, noise, deterministic=occupant.traits.deterministic)
            if whisper is not None:
                turns = turns._replace(hint_features=_hint_features(whisper, turns, table, noise))
            table.step(occupant.act(turns))
        except (MemoryError, KeyboardInterrupt):
            raise  # the machine's doing, or the user's, not the occupant's
        except BaseException as error:  # whatever an occupant may raise
            raise OccupantError(table.seat, error) from error
    return table.games()


def _hint_features(whisper: Whisper, turns: Turns, table: Table, noise: Noise | SideBySide) -> Floats:
    size = table.open
    own = no_noise(size) if whisper.deterministic else np.take(noise.of_hint(table.taken), table.live, axis=0)
    shown = turns._replace(noise=own, game_noise=no_noise(size))
    if whisper.privileged:
        shown = shown._replace(partner_utilities=table.partner_utilities())
    return whisper.tell(shown)


def see(table: Table, noise: Noise | SideBySide, *, deterministic: bool) -> Turns:
    """What the seat to move sees, with its noise; an occupant that declares itself deterministic is given none."""
    if deterministic:
        return table.turns()
    live = table.live
    return table.turns(
        np.take(noise.of_turn(table.taken), live, axis=0), np.take(noise.of_game(table.seat), live, axis=0)
    )
