"""Composite partners: `Mixture` draws a partner per game, `BySeat` uses one per seat, `SaysPropose` changes labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import check_decisions
from dond_marl.errors import quote
from dond_marl.game import Act
from dond_marl.occupants import SpecLike, occupant_name, seat_occupant
from dond_marl.seats import Bools, Decisions, Doubles, Int8s, Partner, Rows, Texts, Traits, Turns

BELOW_ONE = np.nextafter(1.0, 0.0)
MEMBER_DRAW = -1  # the last of a game's eight uniforms draws the partner, which may use the others
PASSED_ON = ("learned", "remote", "human", "privileged", "costly")  # traits that one partner gives to the whole
NEEDED_OF_ALL = ("deterministic", "memoryless")
NO_MEMBER = -1  # the number of a partner that is none of the members


@runtime_checkable
class JointPlayer(Protocol):
    """A partner that can act in one call together with others of an equal ``joint_key``."""

    @property
    def joint_key(self) -> Hashable:
        """Equal for partners that can act together."""
        ...

    @staticmethod
    def act_jointly(players: Sequence[Any], sizes: Sequence[int], turns: Turns) -> Decisions:
        """The same decisions as one ``act`` of each player: the first ``sizes[0]`` rows by the first, and so on."""
        ...


class Mixture:
    """Draws one of several partners for each game; the draw holds to the end of the game.

    ``of``: occupants (names, mappings or partners); ``weights``: relative frequencies, by default equal; ``names``: of
    the partners, by default their specs.
    """

    def __init__(
        self,
        of: Sequence[SpecLike | Partner],
        weights: Sequence[float] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if isinstance(of, str) or not isinstance(of, Sequence) or not of:
            raise ValueError(f"of must be a list of occupants, or zoo; got {quote(of)}")
        self.specs = tuple(of)
        self._names = None if names is None else tuple(names)
        self.partners: tuple[Partner, ...] = tuple(seat_occupant(spec) for spec in of)
        shares = np.ones(len(of)) if weights is None else np.asarray(weights)
        numbers = shares.dtype.kind in "iuf" and shares.shape == (len(of),) and np.isfinite(shares).all()
        if not numbers or (shares < 0).any() or not shares.any():
            raise ValueError(f"weights must be {len(of)} numbers of at least 0, not all 0; got {quote(weights)}")
        ends = np.cumsum(shares)
        # Upper end of each partner's part of a draw in [0, 1); exactly 1 from the last partner with a weight on.
        self._ends: Doubles = ends / ends[-1]
        teams: dict[Hashable, list[int]] = {}  # partners that act in one call, by number
        for number, partner in enumerate(self.partners):
            key = partner.joint_key if isinstance(partner, JointPlayer) else number
            teams.setdefault(key, []).append(number)
        self._teams = list(teams.values())
        self._place = np.argsort([number for team in self._teams for number in team])  # of each, teams side by side

    def __repr__(self) -> str:
        return f"Mixture(of={list(self.specs)!r})"

    @property
    def traits(self) -> Traits:
        return replace(_joint_traits(self.partners), deterministic=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each partner: as given, else its spec, else the ``repr`` of a partner object."""
        if self._names is not None:
            return self._names
        return tuple(occupant_name(spec) if isinstance(spec, str | Mapping) else repr(spec) for spec in self.specs)

    def personas(self) -> list[tuple[float, Partner]]:
        """The probability of each partner, and the partner."""
        return list(zip(np.diff(self._ends, prepend=0.0).tolist(), self.partners, strict=True))

    def draw(self, game_noise: Doubles) -> tuple[Rows, Doubles]:
        """The number of the partner drawn by ``game_noise[B, 8]``, ``[B]``, and the noise that it gets, ``[B, 8]``."""
        draw = game_noise[:, MEMBER_DRAW]
        drawn = np.searchsorted(self._ends[:-1], draw, side="right")
        starts, noise = np.append(0.0, self._ends)[drawn], game_noise.copy()
        # Within its part the draw is uniform again and is passed on, so that a mixture of mixtures can draw twice.
        noise[:, MEMBER_DRAW] = np.clip((draw - starts) / (self._ends[drawn] - starts), 0.0, BELOW_ONE)
        return drawn, noise

    def act(self, turns: Turns) -> Decisions:
        drawn, noise = self.draw(turns.game_noise)
        order = np.argsort(self._place[drawn], kind="stable")  # each partner's games side by side: gathered once
        sorted_turns = turns.rows(order)._replace(game_noise=noise[order])
        act, oA = np.empty(turns.size, dtype=np.int8), np.empty((3, turns.size), dtype=np.int8)
        confidence, cause = np.empty(turns.size, dtype=np.float32), np.empty(turns.size, dtype=np.int8)
        messages: Texts | None = None
        games, start = np.bincount(drawn, minlength=len(self.partners)).tolist(), 0
        for team in self._teams:
            playing = [number for number in team if games[number]]
            if not playing:
                continue
            players, sizes = [self.partners[number] for number in playing], [games[number] for number in playing]
            rows = order[start : start + sum(sizes)]
            team_turns = sorted_turns.rows(slice(start, start + sum(sizes)))
            start += sum(sizes)
            if len(players) == 1:
                decisions = players[0].act(team_turns)
            else:
                decisions = cast(JointPlayer, players[0]).act_jointly(players, sizes, team_turns)
            act[rows], oA[:, rows] = check_decisions(decisions, len(rows))
            confidence[rows], cause[rows] = decisions.confidence, decisions.cause
            if decisions.messages is not None:
                messages = np.full(turns.size, "", dtype=np.object_) if messages is None else messages
                messages[rows] = decisions.messages
        return Decisions(act, oA.T, confidence, cause, messages)


class BySeat:
    """Plays as ``first`` in seat 0 and as ``second`` in seat 1."""

    def __init__(self, first: Partner, second: Partner) -> None:
        self.seats = first, second

    @property
    def traits(self) -> Traits:
        return _joint_traits(self.seats)

    def act(self, turns: Turns) -> Decisions:
        """Decisions of the partner whose seat it is; acts alternate, so all games of one call have the same mover."""
        return self.seats[turns.turns_taken % 2].act(turns)


def _joint_traits(partners: Sequence[Partner]) -> Traits:
    """Deterministic and memoryless if all are; every other trait if one has it."""
    every = [partner.traits for partner in partners]
    marks = {name: any(getattr(traits, name) for traits in every) for name in PASSED_ON}
    deterministic, memoryless = (all(getattr(traits, name) for traits in every) for name in NEEDED_OF_ALL)
    return Traits(deterministic, memoryless, **marks)


class SaysPropose:
    """Plays as ``of``, but says PROPOSE where that says INSIST.

    By the rules the labels mean the same, and most partners say PROPOSE. Networks that learn with each other may come
    to say INSIST: a learner then answers its own kind firmly and everybody else softly, and practice against itself
    teaches it nothing about opponents that say PROPOSE.
    """

    def __init__(self, of: Partner) -> None:
        self.of = of

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.of!r})"

    @property
    def traits(self) -> Traits:
        return self.of.traits

    def act(self, turns: Turns) -> Decisions:
        return _proposing(self.of.act(turns))

    @property
    def joint_key(self) -> Hashable:
        """The key of :class:`JointPlayer`; a partner that acts alone has a key of its own."""
        return type(self), self.of.joint_key if isinstance(self.of, JointPlayer) else id(self)

    @staticmethod
    def act_jointly(players: Sequence[SaysPropose], sizes: Sequence[int], turns: Turns) -> Decisions:
        """Act as :class:`JointPlayer` says, for players whose partners act jointly."""
        inner = [player.of for player in players]
        return _proposing(cast(JointPlayer, inner[0]).act_jointly(inner, sizes, turns))


def _proposing(decisions: Decisions) -> Decisions:
    act = decisions.act_type
    return decisions._replace(act_type=np.where(act == Act.INSIST, np.int8(Act.PROPOSE), act))


def in_seat(partner: Partner, seat: int) -> Partner:
    """The partner that plays in ``seat``: a part of :class:`BySeat`, else ``partner`` itself."""
    return partner.seats[seat] if isinstance(partner, BySeat) else partner


def member_names(partner: Partner) -> tuple[str, ...]:
    """The sorted names of all partners that a mixture may draw, nested mixtures included; none of other partners."""
    return tuple(sorted(set(_names_in(partner))))


def privileged_targets(
    partner: Partner, members: Sequence[str], utilities: Int8s, game_noise: Doubles
) -> NDArray[np.int64]:
    """Targets that only learning sees: the partner's values, and its number among ``members``, ``[N, 4]``.

    The number is :data:`NO_MEMBER` for a partner that is not among them. ``utilities[N, 3]``: the partner's values;
    ``game_noise[N, 8]``: the noise by which a mixture draws. Features, and so play, never contain these targets.
    """
    numbers = {name: number for number, name in enumerate(members)}
    return np.column_stack([utilities.astype(np.int64), _member_numbers(partner, game_noise, numbers)])


def reads_labels(partner: Partner, game_noise: Doubles) -> Bools:
    """Whether the partner that a mixture draws in each game may answer PROPOSE and INSIST differently, ``[N]``.

    It may unless it declares ``insist_is_propose``. Networks and best responses to networks count as partners that do
    not: what a network makes of a label is an accident of its training. ``game_noise[N, 8]``: the noise by which a
    mixture draws.
    """
    if not isinstance(partner, Mixture):
        learned = getattr(partner, "to", partner).traits.learned
        return np.full(len(game_noise), not (learned or getattr(partner, "insist_is_propose", False)))
    drawn, noise = partner.draw(game_noise)
    result = np.zeros(len(drawn), dtype=bool)
    for number, inner in enumerate(partner.partners):
        rows = np.flatnonzero(drawn == number)
        result[rows] = reads_labels(inner, noise[rows])
    return result


def _names_in(partner: Partner) -> list[str]:
    if not isinstance(partner, Mixture):
        return []
    pairs = zip(partner.names, partner.partners, strict=True)
    return [name for member, inner in pairs for name in (_names_in(inner) if isinstance(inner, Mixture) else [member])]


def _member_numbers(partner: Partner, game_noise: Doubles, numbers: Mapping[str, int]) -> Rows:
    result = np.full(len(game_noise), NO_MEMBER)
    if not isinstance(partner, Mixture):
        return result
    drawn, noise = partner.draw(game_noise)
    for number, (name, inner) in enumerate(zip(partner.names, partner.partners, strict=True)):
        rows = np.flatnonzero(drawn == number)
        result[rows] = numbers[name] if name in numbers else _member_numbers(inner, noise[rows], numbers)
    return result
