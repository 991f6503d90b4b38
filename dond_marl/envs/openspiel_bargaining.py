"""Any partner in a seat of OpenSpiel's ``bargaining``, which Kaggle's game arena plays too: its acts as numbers there.

That game knows offers and Agree alone: acts 0 to 119 keep up to seven items, 120 agrees (``bargaining.h``). INSIST is
an offer like another. Who would end the talk, DISAGREE or END, asks for everything instead: nobody can be left with
less, and the game ends by its turn limit. A partner sees what it would see here, with what was said as PROPOSE.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.envs.turn import choose_action
from dond_marl.errors import InputError, quote
from dond_marl.game import MAX_COUNT, SEATS, Act, Action, Rules, Scenario, State, Triple, apply, as_integer
from dond_marl.scenarios.sources import LEWIS_MAX_COUNT, Scenarios, ScenarioSource, pack
from dond_marl.seats import Partner

MOST = 7  # items of all types that one offer can name
OFFERS: tuple[Triple, ...] = tuple((a, b, c) for c, b, a in product(range(MOST + 1), repeat=3) if a + b + c <= MOST)
AGREE = len(OFFERS)
_NOTHING: Triple = (0, 0, 0)


def choose_act(
    partner: Partner,
    counts: Triple,
    values: Triple,
    offers: Sequence[Triple],
    *,
    max_turns: int = 10,
    seed: int = 0,
    prior: str = "lewis",
) -> int:
    """What ``partner`` says, 0..120, to move after ``offers``, each what its speaker keeps, the first player's first.

    ``values`` are its own. ``seed`` names the game's chance: the same in all turns of one game. ``prior``: what it
    believes of scenarios, :mod:`dond_marl.yardsticks.beliefs`. Raises ``ValueError`` for a pool that is too large, and
    whatever the partner raises.
    """
    if sum(counts) > MOST:
        raise ValueError(f"an offer of OpenSpiel's bargaining names up to {MOST} items; the pool is {counts}")
    mover = len(offers) % len(SEATS)
    utilities = (values, _NOTHING) if mover == 0 else (_NOTHING, values)  # the other's are not known, nor are they read
    state = State(Scenario(counts, utilities), Rules(max_turns))
    for offer in offers:
        state = apply(state, Action(Act.PROPOSE, offer))
    action = choose_action(partner, state, seed=seed, prior=prior)
    if action.act_type is Act.AGREE:
        return AGREE
    return OFFERS.index(action.oA if action.act_type in (Act.PROPOSE, Act.INSIST) else counts)


ENVIRONMENT = "open_spiel_bargaining"
ITEMS = ("book", "hat", "basketball")  # in the arena's words, in our order
NO_ACT = -1  # what an agent submits where it is not asked

Agent = Callable[[Mapping[str, Any], Any], dict[str, int]]


class ArenaError(InputError):
    """An observation that is not one of the arena's bargaining game."""


def agent(partner: Partner, *, seed: int = 0, prior: str = "lewis") -> Agent:
    """``partner`` as a function of the arena's observation and configuration: ``kaggle_environments`` calls it.

    ``seed`` names the chance of its game: give each game an agent of its own. ``prior``: what the partner believes of
    scenarios. The function raises :class:`ArenaError`, and whatever the partner raises.
    """

    def answer(observation: Mapping[str, Any], _configuration: Any = None) -> dict[str, int]:
        table = parse_observation(observation)
        if table is None:
            return {"submission": NO_ACT}
        counts, values, offers, max_turns = table
        return {"submission": choose_act(partner, counts, values, offers, max_turns=max_turns, seed=seed, prior=prior)}

    return answer


def parse_observation(observation: Mapping[str, Any]) -> tuple[Triple, Triple, list[Triple], int] | None:
    """The pool, the viewer's values, the offers so far and the turn limit; ``None`` where the viewer is not to move."""
    told = observation.get("observationString") or ""
    if not told or observation.get("currentPlayer") != observation.get("playerId"):
        return None
    try:
        state = json.loads(told)
        offers = [_triple(event["items"]) for event in state["offer_history"] if event["type"] == "offer"]
        return _triple(state["pool"]), _triple(state["my_values"]), offers, int(state["max_turns"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArenaError(f"not an observation of {ENVIRONMENT} ({error}): {quote(told)}") from None


def _triple(items: Mapping[str, Any]) -> Triple:
    a, b, c = (int(items[name]) for name in ITEMS)
    return a, b, c


FILES = ("bargaining_instances1000.txt", "bargaining_instances1000.cc")
NAME = "openspiel"  # of the source, and of what a seat is told of where its scenario came from
_INSTANCE = re.compile(r"(\d+,\d+,\d+) (\d+,\d+,\d+) (\d+,\d+,\d+)\s*")
_INSIDE_CODE = re.compile(r'R"\((.*?)\)"', re.DOTALL)


class InstanceError(InputError):
    """A file of instances that is missing, cannot be read, or holds nothing that can be played."""


class Instances(NamedTuple):
    """The instances that can be played, and those that cannot."""

    scenarios: Scenarios
    refused: tuple[int, ...]  # places in the file, from 1, of those with too many items of one type
    max_count: int  # items of one type that were allowed

    @property
    def source(self) -> ScenarioSource:
        return ScenarioSource(NAME, table=self.scenarios, max_count=self.max_count)

    @property
    def refusal(self) -> str:
        """Which are refused, why, and how to play them; empty if all can be played."""
        if not self.refused:
            return ""
        quote = ", ".join(map(str, self.refused[:5])) + (", ..." if len(self.refused) > 5 else "")
        return (
            f"{len(self.refused)} of {len(self.refused) + self.scenarios.size} instances are refused: they hold more "
            f"than {self.max_count} items of one type (instances {quote}); play them with max_count="
            f"{LEWIS_MAX_COUNT + 1}"
        )


def load_instances(path: str | Path | None = None, max_count: int = LEWIS_MAX_COUNT) -> Instances:
    """The instances in a file, by default that of the installed OpenSpiel; ``max_count``: items of one type.

    Raises :class:`InstanceError`, naming the line.
    """
    limit = as_integer(max_count)
    if limit is None or not 1 <= limit <= MAX_COUNT:
        raise InstanceError(f"max_count must be an integer in 1..{MAX_COUNT}; got {quote(max_count)}")
    file = _installed() if path is None else Path(path).expanduser()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InstanceError(f"{file}: cannot be read as a file of instances ({error})") from None
    scenarios = list(_scenarios(text, file))
    kept = [scenario for scenario in scenarios if max(scenario.counts) <= limit]
    if not kept:
        raise InstanceError(f"{file}: no instance holds at most {limit} items of every type; raise max_count")
    refused = tuple(number for number, table in enumerate(scenarios, start=1) if max(table.counts) > limit)
    return Instances(pack(kept), refused, limit)


def _installed() -> Path:
    """The file in the installed package, found without loading it."""
    spec = find_spec("open_spiel")
    folders = [] if spec is None else [Path(place) for place in spec.submodule_search_locations or ()]
    for folder in folders:
        for name in FILES:
            path = folder / "games" / "bargaining" / name
            if path.is_file():
                return path
    raise InstanceError(
        "OpenSpiel is not installed, or its package holds no instances: pip install open_spiel, or name a file such as "
        f"open_spiel/games/bargaining/{FILES[0]} of its repository"
    )


def _scenarios(text: str, path: Path) -> Iterator[Scenario]:
    for number, line in _lines(text):
        if not line.strip():
            continue
        match = _INSTANCE.fullmatch(line)
        if match is None:
            raise InstanceError(
                f"{path}:{number}: an instance is three triples of numbers, as 1,2,3 8,1,0 4,0,2; got {quote(line)}"
            )
        try:
            pool, *values = (tuple(map(int, group.split(","))) for group in match.groups())
            yield Scenario(pool, tuple(values))  # type: ignore[arg-type]  # the pattern holds three of three
        except ValueError as error:
            raise InstanceError(f"{path}:{number}: {error}") from None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of a text file, or of the raw strings in a file of C++, which stand one after another."""
    blocks = [(match.start(1), match.group(1)) for match in _INSIDE_CODE.finditer(text)] or [(0, text)]
    for start, block in blocks:
        yield from enumerate(block.splitlines(), start=text.count("\n", 0, start) + 1)
