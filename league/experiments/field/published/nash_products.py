"""The three Nash products of OpenSpiel's ``nego_nbs_example.py``, measured: the product of both players' mean points.

Random play, its information-set tree search with itself, and the split with the largest product, on the scenarios of
the published dialogues, each negotiation once, who spoke first being player 0. That of people is part of the human line
(:mod:`dond_marl.dialogues.human_line`). Needs the package ``open_spiel`` and the published files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.errors import InputError
from dond_marl.randomness import generator
from dond_marl.scenarios.data import DIALOGUE_SPLITS, Dialogue, load_dialogues
from league.experiments.field.bargaining import CHANCE, ORACLE, SEARCH, THEIRS, Table
from league.experiments.field.published.results import Found, Row, plain_of, row_of
from league.experiments.kept import made_now, place, read, write
from league.tables.figures import with_margin

PLAYERS = (ORACLE, CHANCE, SEARCH)
PREFIX, PEOPLES = "nbs_", "nash_product_of_means"
BATCHES = 10  # of games; the interval is over their products


def perform(
    negotiations: Sequence[str], size: int, simulations: int, folder: Path, report: Callable[[str], None]
) -> Found:
    """``BATCHES`` of ``size`` games of each player with itself; done batches are kept in ``folder``.

    ``negotiations``: the scenario of each, as a line of OpenSpiel's file of instances. Raises :class:`InputError`
    without OpenSpiel or for too many games.
    """
    games = BATCHES * size
    if games > len(negotiations):
        raise InputError(f"there are {len(negotiations):,} negotiations; ask for at most so many games, not {games:,}")
    chosen = generator(0, "nash products").permutation(len(negotiations))[:games]
    rows = []
    with tempfile.TemporaryDirectory() as place_of:
        path = Path(place_of) / "instances.txt"
        path.write_text("".join(f"{negotiations[number]}\n" for number in chosen), encoding="utf-8")
        table = Table(THEIRS, {}, simulations, instances=path)
        for who in PLAYERS:
            for seed in range(BATCHES):
                batch = range(seed * size, (seed + 1) * size)
                what = {"who": who, "batch": chosen[batch].tolist(), "simulations": simulations if who == SEARCH else 0}
                kept = read(place(folder, what))
                row = _row(table, who, seed, batch) if kept is None else row_of(kept)
                if kept is None:
                    row = row._replace(**made_now("numpy", "open_spiel"))
                    write(place(folder, what), plain_of(row))
                rows.append(row)
            product = float(np.mean([row.measures["nash"] for row in rows if row.who == PREFIX + who]))
            report(f"{who}: {product:.2f}, {games:,} games")
    return Found({"title": "ours", "games": games, "simulations": simulations, "negotiations": len(negotiations)}, rows)


def instances(data_dir: Path | None) -> list[str]:
    """Those of the published dialogues. Raises :class:`dond_marl.scenarios.data.DataError` without the files."""
    return scenarios_of([row for split in DIALOGUE_SPLITS for row in load_dialogues(split, data_dir)])


def scenarios_of(rows: Iterable[Dialogue]) -> list[str]:
    """The scenarios of the perspectives that spoke first, which is one of each negotiation."""
    triples = [(row.counts, row.my_values, row.partner_values) for row in rows if row.words[0] == "YOU:"]
    return [" ".join(",".join(map(str, triple)) for triple in three) for three in triples]


def _row(table: Table, who: str, seed: int, batch: Sequence[int]) -> Row:
    returns = np.array([table.play(instance, (who, who)) for instance in batch])
    points, left = returns.mean(axis=0).tolist()
    deals = float((returns.sum(axis=1) > 0).mean())
    measures = {"points": points, "left": left, "deals": deals, "nash": points * left}
    return Row(PREFIX + who, seed, len(batch), measures, [])


def markdown(found: Found) -> str:
    """The products with their intervals over batches, people's beside them."""
    people = stored_human_line().figures[PEOPLES]
    rows = [f"| people | {people.n:,} perspectives | {with_margin(people)} |"]
    for who in found.players:
        games = sum(row.games for row in found.rows if row.who == who)
        rows.append(f"| `{who.removeprefix(PREFIX)}` | {games:,} games | {with_margin(found.of(who, 'nash'))} |")
    return (
        "Products of both mean points, of ten, no deal being 0; tree search is given "
        f"{found.settings['simulations']:,} simulated games a decision; 95 % intervals over {BATCHES} batches of "
        "games, people's over scenarios.\n\n| who | over | product |\n|---|---|---|\n" + "\n".join(rows)
    )
