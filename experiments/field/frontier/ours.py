"""Our occupants under *talk, then secret proposals*: what they say is their acts, what they propose is what stands.

Ten messages are ten turns of our game: five to a side. Whoever agrees, ends the talk or refuses for good has proposed,
and the other proposes next; after the tenth message both do. What a side proposes is the last offer that it accepted,
else the last claim that it made; a side that did neither, or refused for good, proposes nothing that stands, so there
is no deal. So an agreed deal is paid as in our game; after END or the tenth message a deal stands if the last claims
fit, where ours asks that they add up to exactly the pool.

That supposes that ours keep their word. Where nothing binds, by the rule ``secret_claims`` of our game, they talk for
five turns each and then claim in secret, agreed or not; claims are a deal if they add up to exactly the pool.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dond_marl.batch import Games
from dond_marl.game import MAX_COUNT, Act, Rules, Scenario
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import pack
from dond_marl.scenarios.space import LEWIS_MAX_COUNT, Scenarios, lewis_space
from dond_marl.seats import Partner
from experiments.field.frontier.public import Counts, Instance
from experiments.field.frontier.scoring import Outcome, outcome

RULES = Rules(max_turns=10)  # five messages to a side; DISAGREE ends the game
UNBOUND = Rules(max_turns=12, secret_claims=True)  # five messages to a side, then a claim of each
PRIOR = "lewis"
assert LEWIS_MAX_COUNT <= MAX_COUNT


def playable(instances: Sequence[Instance]) -> list[Instance]:
    """Those with three types and at most four items of each, which our partners play unchanged."""
    return [each for each in instances if len(each.counts) == 3 and max(each.counts) <= LEWIS_MAX_COUNT]


def in_paper_space(instances: Sequence[Instance]) -> list[Instance]:
    """Those of them that are scenarios of Lewis et al. 2017: what is solved is solved for these."""
    space = lewis_space()
    known = {(*a.tolist(), *b.ravel().tolist()) for a, b in zip(space.counts, space.utilities, strict=True)}
    return [each for each in playable(instances) if (*each.counts, *each.values[0], *each.values[1]) in known]


def played(
    occupants: tuple[Partner, Partner], instances: Sequence[Instance], *, seed: int, replicate: int
) -> list[Outcome]:
    """One game on each instance, ``occupants[0]`` speaking first; ``replicate`` names the noise besides ``seed``.

    Raises :class:`dond_marl.rollout.OccupantError`.
    """
    games = rollout(occupants, _scenarios(instances), RULES, seed=seed, index=(replicate,), prior=PRIOR)
    return [outcome(table, proposals(games, row)) for row, table in enumerate(instances)]


def played_unbound(
    occupants: tuple[Partner, Partner], instances: Sequence[Instance], *, seed: int, replicate: int
) -> list[Outcome]:
    """The same where what is said binds nobody."""
    games = rollout(occupants, _scenarios(instances), UNBOUND, seed=seed, index=(replicate,), prior=PRIOR)
    found = []
    for row, table in enumerate(instances):
        first, second = (tuple(share) for share in games.allocation[row].tolist())
        found.append(outcome(table, (first, second) if games.deal[row] else (None, None)))
    return found


def proposals(games: Games, row: int) -> tuple[Counts | None, Counts | None]:
    """What both sides propose at the end of the talk of one game."""
    claims: list[Counts | None] = [None, None]
    for turn in range(int(games.turns[row])):
        act, speaker = Act(int(games.act[row, turn])), turn % 2
        if act.is_offer:
            claims[speaker] = tuple(games.oA[row, turn].tolist())
        elif act is Act.AGREE:
            offered = claims[1 - speaker]
            assert offered is not None, "who agrees has heard an offer"
            claims[speaker] = tuple((games.scenarios.counts[row] - np.array(offered)).tolist())
        elif act is Act.DISAGREE:
            claims[speaker] = None
    return claims[0], claims[1]


def _scenarios(instances: Sequence[Instance]) -> Scenarios:
    return pack(_scenario(each) for each in instances)


def _scenario(instance: Instance) -> Scenario:
    (a, b, c), first, second = instance.counts, instance.values[0], instance.values[1]
    return Scenario((a, b, c), ((first[0], first[1], first[2]), (second[0], second[1], second[2])))
