"""The tables of docs/CROWD.md about what members make of whom they face."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from league.bench.protocol import ALL
from league.bench.recognition import read

FILE = "recognition.jsonl"
UNKNOWN = "-"
OWN_TURNS = 5  # of a seat in a game of ten


def who_rows(folder: Path) -> Iterator[list[str]]:
    """Who is it: a row for each member, seat and number of own turns."""
    for who, of in _by_arm(folder):
        for seat, own, turns in _turns(of):
            yield [
                who, f"seat_{seat}", str(own), f"{sum(turn['games'] for turn in turns) / len(turns):,.0f}",
                _share(turns, "right"), _share(turns, "right_exact"),
                f"{sum(turn['apart'] for turn in turns) / sum(turn['games'] for turn in turns):.1%}",
                _share(turns, "right_apart"), _share(turns, "right_apart_exact"),
            ]  # fmt: skip


def want_rows(folder: Path) -> Iterator[list[str]]:
    """What does it want: Brier scores, a row for each member, seat and number of own turns."""
    for who, of in _by_arm(folder):
        for seat, own, turns in _turns(of):
            figures = [_mean(turns, name) for name in ("brier", "brier_exact", "brier_prior")]
            more = UNKNOWN if figures[0] is None or not figures[1] else f"{figures[0] / figures[1] - 1:+.0%}"
            yield [who, f"seat_{seat}", str(own), *(_number(value) for value in figures), more]


def calibration_rows(folder: Path) -> Iterator[list[str]]:
    """How often came true what was said to be so probable: a row for each member that believes, and own turns."""
    for who, of in _by_arm(folder):
        owns = sorted({own for _, own, _ in _turns(of)})
        for own in owns:
            turns = [turn for _, at, each in _turns(of) for turn in each if at == own and turn["calibration"]]
            if turns:
                bins = zip(*(turn["calibration"] for turn in turns), strict=True)
                yield [who, str(own), *(_true(each) for each in bins)]


def lost_rows(folder: Path) -> Iterator[list[str]]:
    """How fast does it adapt: points lost to the best reply by own turn, a row for each member and seat."""
    for who, of in _by_arm(folder):
        for seat in (0, 1):
            points: dict[int, float] = {}  # a seed whose games never last so long loses nothing there
            for turn in (turn for row in of for turn in row["seats"][seat]["lost"]):
                points[turn["own"]] = points.get(turn["own"], 0.0) + turn["points"] / len(of)
            cells = [f"{points[own]:.2f}" if own in points else UNKNOWN for own in range(OWN_TURNS)]
            yield [who, f"seat_{seat}", *cells, f"{sum(points.values()):.2f}" if points else UNKNOWN]


def table_of(rows: Callable[[Path], Iterator[list[str]]], *heads: str) -> Callable[[Path], str]:
    """A table of Markdown with these headings."""

    def table(folder: Path) -> str:
        lines = [list(heads), ["---"] * len(heads), *rows(folder)]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    return table


WHO = table_of(
    who_rows, "who", "seat", "own turns", "games", "named right", "exact", "told apart", "right there", "exact there"
)
WANT = table_of(want_rows, "who", "seat", "own turns", "Brier score", "exact", "before the game", "above exact")
CALIBRATION = table_of(
    calibration_rows, "who", "own turns", *(f"said {10 * low}-{10 * low + 10}%" for low in range(10))
)
LOST = table_of(lost_rows, "who", "seat", *(f"after {own} own turns" for own in range(OWN_TURNS)), "in all")


def _by_arm(folder: Path) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The lines of each name, its seeds together, in the order of the file."""
    arms: dict[str, list[Mapping[str, Any]]] = {}
    for row in read(folder / FILE):
        arms.setdefault(f"{row['who']}, {row['crowd']}", []).append(row)
    return [(f"{who} ({len(of)} seeds)" if len(of) > 1 else who, of) for who, of in arms.items()]


def _turns(of: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int, list[Mapping[str, Any]]]]:
    """The seat, the number of own turns, and the figures of every seed there."""
    for seat in (0, 1):
        by_turn: dict[int, list[Mapping[str, Any]]] = {}
        for row in of:
            for turn in row["seats"][seat]["slices"][ALL]:
                by_turn.setdefault(turn["own"], []).append(turn)
        for own, turns in sorted(by_turn.items()):
            yield seat, own, turns


def _mean(turns: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [turn[name] for turn in turns if turn[name] is not None]
    return sum(values) / len(values) if values else None


def _share(turns: Sequence[Mapping[str, Any]], name: str) -> str:
    mean = _mean(turns, name)
    return UNKNOWN if mean is None else f"{mean:.1%}"


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3f}"


def _true(bins: Sequence[Sequence[float]]) -> str:
    """The share that came true, over the seeds and seats of one row; nothing of what was hardly ever said."""
    number = sum(count for count, _, _ in bins)
    return f"{sum(count * true for count, _, true in bins) / number:.0%}" if number >= 100 else UNKNOWN
