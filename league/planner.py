"""Who meets whom in a round: a pure function of the members, the settings and the round's number."""

from __future__ import annotations

from itertools import combinations_with_replacement

from league.config import Config
from league.tasks import Block, MatchTask, Member


def members_of(config: Config) -> tuple[Member, ...]:
    """The members that a config names, in its order."""
    return tuple(Member(member.name, member.spec) for member in config.roster())


def block_of(config: Config, number: int) -> Block:
    """The scenarios that every match of round ``number`` plays: common ones, so that members compare in pairs."""
    size = config.league.block_size
    return Block(start=number * size, size=size)


def plan_round(config: Config, members: tuple[Member, ...], number: int) -> tuple[MatchTask, ...]:
    """The tasks of round ``number``: a full cross-play, every member against every member and itself."""
    block = block_of(config, number)
    return tuple(
        MatchTask(
            round=number,
            number=position,
            members=pair,
            block=block,
            env=config.env,
            seed=config.league.seed,
            probability=1.0,
            reason="cross-play: every pair meets every round",
        )
        for position, pair in enumerate(combinations_with_replacement(members, 2))
    )
