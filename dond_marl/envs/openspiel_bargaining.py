"""OpenSpiel's ``bargaining``: our partners as its players and in Kaggle's game arena, and its published instances.

That game has offers and Agree only: acts 0 to 119 keep up to seven items, 120 agrees (``bargaining.h``). INSIST is
played as an offer. DISAGREE and END are played as an offer that keeps everything: it leaves the other side nothing, and
the game ends at its turn limit. Partners observe each offer as PROPOSE.

Kaggle's arena (``open_spiel_bargaining`` of kaggle-environments) plays the same game. Its observation is JSON: the
pool, the viewer's values and every offer so far. Source of the format: Kaggle/kaggle-environments 1.33,
``envs/open_spiel_env/games/bargaining/bargaining_proxy.py`` (Apache 2.0).

A line of the instance file is ``1,2,3 8,1,0 4,0,2``: the pool, then the values of both players, player 0 (who opens)
first. All 1,000 instances are legal scenarios of Lewis et al. 2017, but 78 hold five items of one type, which no
published pool does. Source: google-deepmind/open_spiel, ``open_spiel/games/bargaining/bargaining_instances1000.txt``
(Apache 2.0); the package on PyPI has the same lines in ``bargaining_instances1000.cc``.
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
    """The act of ``partner``, 0..120, which is to move after ``offers``.

    ``offers``: the items that each player keeps, the first player's first. ``values``: the partner's own. ``seed``: of
    its noise, constant through a game. ``prior``: name of the scenario distribution for its beliefs, see
    :mod:`dond_marl.yardsticks.beliefs`. Raises ``ValueError`` for a pool that is too large; errors of the partner pass
    through.
    """
    if sum(counts) > MOST:
        raise ValueError(f"an offer of OpenSpiel's bargaining names up to {MOST} items; the pool is {counts}")
    mover = len(offers) % len(SEATS)
    utilities = (values, _NOTHING) if mover == 0 else (_NOTHING, values)  # the other's are unknown and not used
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
    """``partner`` as an agent of ``kaggle_environments``: a function of the arena's observation and configuration.

    ``seed``: of the partner's noise; give each game an agent of its own. ``prior``: name of the scenario distribution
    for the partner's beliefs. The function raises :class:`ArenaError`; errors of the partner pass through.
    """

    def answer(observation: Mapping[str, Any], _configuration: Any = None) -> dict[str, int]:
        table = parse_observation(observation)
        if table is None:
            return {"submission": NO_ACT}
        counts, values, offers, max_turns = table
        return {"submission": choose_act(partner, counts, values, offers, max_turns=max_turns, seed=seed, prior=prior)}

    return answer


def parse_observation(observation: Mapping[str, Any]) -> tuple[Triple, Triple, list[Triple], int] | None:
    """The pool, the viewer's values, the offers so far and the turn limit; ``None`` if the viewer is not to move."""
    text = observation.get("observationString") or ""
    if not text or observation.get("currentPlayer") != observation.get("playerId"):
        return None
    try:
        state = json.loads(text)
        offers = [_triple(event["items"]) for event in state["offer_history"] if event["type"] == "offer"]
        return _triple(state["pool"]), _triple(state["my_values"]), offers, int(state["max_turns"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArenaError(f"not an observation of {ENVIRONMENT} ({error}): {quote(text)}") from None


def _triple(items: Mapping[str, Any]) -> Triple:
    a, b, c = (int(items[name]) for name in ITEMS)
    return a, b, c


FILES = ("bargaining_instances1000.txt", "bargaining_instances1000.cc")
NAME = "openspiel"  # of the source, and the prior that its seats observe
_INSTANCE = re.compile(r"(\d+,\d+,\d+) (\d+,\d+,\d+) (\d+,\d+,\d+)\s*")
_INSIDE_CODE = re.compile(r'R"\((.*?)\)"', re.DOTALL)


class InstanceError(InputError):
    """A file of instances that is missing, cannot be read, or has no playable instance."""


class Instances(NamedTuple):
    """The playable instances, and the refused ones."""

    scenarios: Scenarios
    refused: tuple[int, ...]  # positions in the file, from 1, of instances with too many items of one type
    max_count: int  # items of one type that were allowed

    @property
    def source(self) -> ScenarioSource:
        return ScenarioSource(NAME, table=self.scenarios, max_count=self.max_count)

    @property
    def refusal(self) -> str:
        """A text on the refused instances: which, why, and how to play them; empty without any."""
        if not self.refused:
            return ""
        listed = ", ".join(map(str, self.refused[:5])) + (", ..." if len(self.refused) > 5 else "")
        return (
            f"{len(self.refused)} of {len(self.refused) + self.scenarios.size} instances are refused: they hold more "
            f"than {self.max_count} items of one type (instances {listed}); play them with max_count="
            f"{LEWIS_MAX_COUNT + 1}"
        )


def load_instances(path: str | Path | None = None, max_count: int = LEWIS_MAX_COUNT) -> Instances:
    """The instances of a file, by default that of the installed OpenSpiel. ``max_count``: maximum items of a type.

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
    playable = [scenario for scenario in scenarios if max(scenario.counts) <= limit]
    if not playable:
        raise InstanceError(f"{file}: no instance holds at most {limit} items of every type; raise max_count")
    refused = tuple(number for number, table in enumerate(scenarios, start=1) if max(table.counts) > limit)
    return Instances(pack(playable), refused, limit)


def _installed() -> Path:
    """The instance file of the installed package, found without importing it."""
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
    """The numbered lines of a text file, or of all raw strings in a C++ file."""
    blocks = [(match.start(1), match.group(1)) for match in _INSIDE_CODE.finditer(text)] or [(0, text)]
    for start, block in blocks:
        yield from enumerate(block.splitlines(), start=text.count("\n", 0, start) + 1)
