"""What each snapshot added to those before it: whether a league still finds anything new."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dond_marl.statistics import Estimate
from league.rounds.diversity import Added
from league.tables.blocks import Figure, Section, Table, TableRow, number_cell

KEY, TITLE = "diversity", "What each snapshot added"


def diversity(snapshots: Sequence[Added]) -> Section:
    """Every snapshot in the order in which it joined, with its distance from what those before it can do."""
    if not snapshots:
        return Section(KEY, TITLE, ("Nobody has left a snapshot.",))
    note = (
        "Response diversity (Liu et al. 2021): how far a snapshot's points against the league's fixed members, in both "
        "seats, are from the nearest mixture of the snapshots before it, in points of ten per cell (root mean square). "
        "Nothing new is 0; a distance that is not above the error of the snapshot's own points may be chance."
    )
    rows = tuple(
        TableRow(
            each.member.name,
            (
                f"after round {each.member.born}",
                number_cell(each.before, "count"),
                _known(each.distance, each.cells),
                _known(each.error, each.cells),
            ),
        )
        for each in snapshots
    )
    heads = ("born", "snapshots before it", "distance from their mixtures", "error of its points")
    return Section(KEY, TITLE, (note,), (Table("In the order in which they joined", heads, rows, "snapshot"),))


def _known(value: float, cells: int) -> Figure | None:
    return None if math.isnan(value) else Figure(Estimate(value, cells, math.nan, math.nan))
