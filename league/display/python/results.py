"""What a call from Python comes to: it prints as the command line's tables, and becomes pandas frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dond_marl.errors import InputError, quote
from league.tables.export import TABLES, frame, frame_of

if TYPE_CHECKING:
    import pandas as pd

    from league.evaluation.evaluate import Evaluation

WIDTH = 110  # characters of a printed result: what a notebook shows without breaking lines


@dataclass(frozen=True, repr=False)
class Trained:
    """A training that is over, or was stopped: its run folder, and the checkpoint that it ends with."""

    folder: Path
    checkpoint: Path
    text: str = field(compare=False)

    @property
    def member(self) -> str:
        """What it is called wherever an occupant is named: ``checkpoint(path='...')``."""
        return f"checkpoint(path={str(self.checkpoint)!r})"

    def frame(self) -> pd.DataFrame:
        """The log of the training, a row per update, as a pandas frame; what was not measured is missing."""
        with (self.folder / "progress.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names = list(rows[0]) if rows else []
        return frame_of({name: [float(row[name]) if row[name] else None for row in rows] for name in names})

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class PlayedLeague:
    """A league's run: its folder, and what it came to."""

    folder: Path
    text: str = field(compare=False)

    def frame(self, table: str = "ratings") -> pd.DataFrame:
        """The table ``games``, ``acts``, ``payoffs`` or ``ratings`` as a pandas frame; docs/LEDGER.md has the columns.

        Acts are played again; those that would ask a language model or a person are left out, and the frame's
        ``attrs["left_out"]`` says which. Raises :class:`dond_marl.errors.InputError` for another table.
        """
        if table not in TABLES:
            raise InputError(f"there is no table {quote(table)}; there are {', '.join(TABLES)}")
        left_out: list[str] = []
        made = frame(self.folder, table, left_out.append)
        made.attrs["left_out"] = left_out
        return made

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class EvaluatedPair:
    """One member against one partner, beside the best response and the solution points."""

    evaluation: Evaluation
    text: str = field(compare=False)

    def frame(self) -> pd.DataFrame:
        """Every figure as a pandas frame: by line (who), view (both seats or one) and name, with interval and games."""
        rows: list[tuple[str, str, str, float, float, float, int]] = []
        for line in self.evaluation.lines:
            for view, figures in line.figures.items():
                for name, estimate in figures._asdict().items():
                    mean, n, low, high = estimate
                    rows.append((line.name, view, name, mean, low, high, n))
        names = ("line", "view", "figure", "mean", "low", "high", "games")
        return frame_of({name: [row[k] for row in rows] for k, name in enumerate(names)})

    def __repr__(self) -> str:
        return self.text


def printed(show: Callable[[Console], None]) -> str:
    """What ``show`` prints, as a text without colours."""
    console = Console(file=io.StringIO(), width=WIDTH, highlight=False, color_system=None, force_jupyter=False)
    show(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().strip("\n")
