"""The tables of docs/EQUILIBRIA.md: what an equilibrium is worth, and who is beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dond_marl.game import Disagree
from dond_marl.yardsticks.equilibria.table import SMALL, Pair
from experiments.equilibria.worth import EQUILIBRIUM, LENGTH, PEOPLE, Worth, parsed

FILE = "equilibria.jsonl"


def found_in(folder: Path) -> list[Worth]:
    """What the file holds."""
    return parsed((folder / FILE).read_text(encoding="utf-8").splitlines())


def length_rows(folder: Path) -> Iterator[list[str]]:
    """A row for games of each length."""
    for worth in found_in(folder):
        if _coldest(worth, "ends") and worth.turns is not None:
            last = f"seat_{worth.turns % 2}" if worth.turns > 1 else "nobody"
            yield [
                str(worth.turns), last, *_points(worth), f"{worth.welfare:.2f}", f"{worth.deals:.1%}",
                f"{worth.closes[-1]:.1%}", *_gains(worth),
            ]  # fmt: skip


def refusing_rows(folder: Path) -> Iterator[list[str]]:
    """A row for games of each length in which DISAGREE only refuses."""
    for worth in found_in(folder):
        if _coldest(worth, "rejects"):
            yield [str(worth.turns), *_points(worth), f"{worth.welfare:.2f}", f"{worth.deals:.1%}", *_gains(worth)]


def temperature_rows(folder: Path) -> Iterator[list[str]]:
    """A row for each temperature, the coldest first."""
    for worth in found_in(folder):
        if worth.who == EQUILIBRIUM and worth.turns == LENGTH and worth.disagree == "ends":
            yield [
                str(worth.temperature), *_points(worth), f"{worth.welfare:.2f}", f"{worth.deals:.1%}", *_gains(worth)
            ]  # fmt: skip


def beside_rows(folder: Path) -> Iterator[list[str]]:
    """A row for everybody in the game that players are compared in, the most uneven first."""
    shown = [
        worth
        for worth in found_in(folder)
        if worth.turns in (None, LENGTH) and (worth.who != EQUILIBRIUM or _coldest(worth, "ends"))
    ]
    for worth in sorted(shown, key=lambda worth: worth.points[1] - worth.points[0]):
        played = worth.turns is not None
        how = (
            "against itself, exact" if played else "people's dialogues" if worth.who == PEOPLE else "by its definition"
        )
        name = f"`{worth.who}`" if played and not worth.identity else worth.who
        yield [name, *_points(worth), f"{worth.points[0] - worth.points[1]:+.2f}", f"{worth.welfare:.2f}",
               f"{worth.deals:.1%}", how]  # fmt: skip


def _coldest(worth: Worth, disagree: Disagree) -> bool:
    return (worth.who, worth.temperature, worth.disagree) == (EQUILIBRIUM, SMALL, disagree)


def _points(worth: Worth) -> Iterator[str]:
    return (f"{points:.2f}" for points in worth.points)


def _gains(worth: Worth) -> Iterator[str]:
    return (_between(gain) for gain in worth.gains or ())


def _between(gain: Pair) -> str:
    low, high = (f"{end:.3f}" for end in gain)
    return low if low == high else f"{low} to {high}"
