"""The log of a training: one CSV row per update, and the same figures for trackers such as TensorBoard."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import IO, NamedTuple

from dond_marl.records.files import write_atomically, write_durably
from league.ledger.trackers import Settings, Trackers
from league.standings.references import ReferencePoints
from partners.learning.practice import Score

CSV_NAME = "progress.csv"
COLUMNS = (
    *("update", "decisions", "games", "points", "deals", "turns"),  # of the update's practice
    *("of_nash", "of_response"),  # its points as shares of those of the Nash points and of a best response
    *("policy_loss", "value_loss", "entropy", "kl", "reference_kl", "belief_loss", "taught_loss", "hints_available"),
    *("seconds", "decisions_per_second"),  # wall-clock time, the only columns that differ between equal runs
)


class ProgressRow(NamedTuple):
    """One update; counters and the tally of hints are cumulative."""

    update: int
    decisions: int
    games: int
    score: Score  # of the practice that made the update
    references: ReferencePoints
    metrics: dict[str, float]  # of the learner
    hints: Counter[str]
    seconds: float
    decisions_per_second: float


class ProgressLog:
    """An open log; on resuming, rows after the checkpoint are dropped, so that no update is logged twice.

    ``trackers``: names of :data:`league.ledger.trackers.TRACKERS`. ``warn`` is called if an earlier log is damaged or
    has other columns. Raises :class:`dond_marl.errors.MissingLibrary`.
    """

    def __init__(
        self,
        folder: Path,
        to_csv: bool,
        trackers: Sequence[str],
        decisions: int,
        settings: Settings,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._file: IO[str] | None = None
        self._hints: Counter[str] = Counter()  # up to the latest row
        if to_csv:
            _drop_rows_after(folder / CSV_NAME, decisions, warn)
            self._file = (folder / CSV_NAME).open("a", newline="", encoding="utf-8")
            self._rows = csv.DictWriter(self._file, COLUMNS)
        self._trackers = Trackers(trackers, folder, decisions + 1, settings)

    def write(self, row: ProgressRow) -> None:
        score, references = row.score, row.references
        figures = {
            "points": score.points,
            "deals": score.deals,
            "turns": score.turns,
            "of_nash": score.points / references.nash,
            "of_response": score.points / references.response,
            **row.metrics,
            "decisions_per_second": row.decisions_per_second,
        }
        figures = {name: value for name, value in figures.items() if not math.isnan(value)}
        hints, self._hints = row.hints - self._hints, row.hints
        if hints.get("asked"):
            figures["hints_available"] = hints["available"] / hints["asked"]
        if self._file is not None:
            counts = {"update": row.update, "decisions": row.decisions, "games": row.games}
            texts = {name: f"{value:.6g}" for name, value in figures.items()}
            self._rows.writerow({**counts, **texts, "seconds": f"{row.seconds:.3f}"})
            self._file.flush()
        self._trackers.write({f"train/{name}": value for name, value in figures.items()}, row.decisions)

    def write_closing(self, figures: Mapping[str, float], decisions: int) -> None:
        """The score of the finished training, for the trackers."""
        self._trackers.write(figures, decisions)

    def __enter__(self) -> ProgressLog:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        self._trackers.close()


def _drop_rows_after(path: Path, decisions: int, warn: Callable[[str], None]) -> None:
    """Keep the header and the complete rows up to ``decisions``, replacing the file atomically.

    A damaged log is also kept under another name.
    """
    rows, wrong = _rows_of(path) if path.is_file() else ([], "")
    if wrong:
        copy = next(free for number in count(1) if not (free := path.with_name(f"{path.name}.{number}")).exists())
        write_durably(copy, path.read_bytes())
        warn(f"{path} {wrong}: it is kept as {copy.name}, and the log continues with {len(rows):,} complete rows")
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(row for row in rows if int(row["decisions"]) <= decisions)
    write_atomically(path, text.getvalue())


def _rows_of(path: Path) -> tuple[list[dict[str, str]], str]:
    """The complete rows of a log, and its problem in words; a truncated last row is none."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        rows = csv.DictReader(file)
        if rows.fieldnames is None:
            return [], ""
        if tuple(rows.fieldnames) != COLUMNS:
            return [], "has other columns than this build writes"
        complete = [row for row in rows if None not in row.values()]
    whole = [row for row in complete if None not in row and row["decisions"].isascii() and row["decisions"].isdigit()]
    return whole, "" if len(whole) == len(complete) else "is damaged"
