"""The tables of OpenSpiel's ``bargaining``: 1,000 instances of this game, read from its file or its installed package.

A line is ``1,2,3 8,1,0 4,0,2``: the pool, then what either player values, player 0 first, who opens as our seat_0 does.
Every instance is a legal scenario of Lewis et al. 2017, but 78 hold five of one type, which no published pool does.
Source: google-deepmind/open_spiel, ``open_spiel/games/bargaining/bargaining_instances1000.txt`` (Apache 2.0); the
package on PyPI holds the same lines in ``bargaining_instances1000.cc``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dond_marl.errors import InputError, quote
from dond_marl.game import MAX_COUNT, Scenario, as_integer
from dond_marl.scenarios.sources import LEWIS_MAX_COUNT, Scenarios, ScenarioSource, pack

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
