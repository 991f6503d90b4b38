"""The record of a draw: who was taken for a roster and who was refused, and how near each is to others.

It is a file beside the rosters, ``admission.csv``; ``dond rosters check`` computes the rows of the members anew.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from pathlib import Path

from dond_marl.errors import InputError
from partners.rosters.draw import Considered
from partners.rosters.stored import FILE, ROSTERS, TRAIN

COLUMNS = ("roster", "member", "refused", "nearest_in_train", "share", "nearest", "nearest_share")


def as_csv(rows: Iterable[Considered]) -> str:
    """The rows as CSV with a heading; shares in four digits. :func:`from_csv` reads it back."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        near, among = row.nearest_train, row.nearest
        writer.writerow([row.roster, row.member, row.reason, near[0], f"{near[1]:.4f}", among[0], f"{among[1]:.4f}"])
    return text.getvalue()


def from_csv(text: str) -> list[Considered]:
    """The rows of :func:`as_csv`. Raises :class:`InputError` for another text."""
    lines = list(csv.reader(io.StringIO(text)))
    if not lines or tuple(lines[0]) != COLUMNS:
        raise InputError("not the record of a draw: its first line is " + ",".join(COLUMNS))
    return [
        Considered(member, roster, reason, (near, float(share)), (among, float(most)))
        for roster, member, reason, near, share, among, most in lines[1:]
    ]


def beside(path: Path = FILE) -> Path:
    """The record's file beside a file of rosters: ``rosters.yaml`` has ``admission.csv``, ``my.yaml`` ``my.csv``."""
    return path.with_name("admission.csv") if path.name == FILE.name else path.with_suffix(".csv")


def as_markdown(rows: Iterable[Considered], families: Callable[[str], frozenset[str]]) -> str:
    """Those who were taken as a table of each roster: whether train has a member's family, and whom it is most like.

    ``families``: those of a member, by program, such as :func:`partners.provenance.programs`.
    """
    taken = [row for row in rows if not row.reason]
    known = {program for row in taken if row.roster == TRAIN for program in families(row.member)}
    parts = []
    for roster in ROSTERS:
        lines = ["| member | family met in train | most like, of train | same decision |", "|---|---|---|---|"]
        for row in taken:
            if row.roster == roster:
                family = "yes" if families(row.member) & known else "no"
                who, share = row.nearest_train
                lines.append(f"| `{row.member}` | {family} | `{who}` | {share:.1%} |")
        parts.append(f"### {roster.capitalize()}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)
