"""The tables and the figure of docs/FIELD.md: this game as others play it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from experiments.field.anac import findings as anac
from experiments.field.anac.picture import drawing as anac_drawing
from experiments.field.frontier import experiment as frontier
from experiments.field.frontier import shown as frontier_shown
from experiments.field.published import players, reproduction, table
from experiments.field.published.cells import published
from experiments.field.published.gathered import FILES, gathered
from experiments.field.published.results import parsed as published_results
from experiments.results.files import FOLDER, ROOT, there

FRONTIER, PUBLISHED, WEAKER = "frontier.jsonl", "published.jsonl", "published_weaker.jsonl"
ANAC = "anac.jsonl"
DRAWN, DRAWN_ANAC = ROOT / "docs" / "frontier.svg", ROOT / "docs" / "anac.svg"


def frontier_table(folder: Path) -> str:
    """Large models and ours under talk, then secret proposals."""
    rows = frontier.parsed(_lines(folder, FRONTIER))
    return f"{frontier_shown.markdown(rows)}\n{frontier_shown.how(rows)}"


def frontier_figure(folder: Path = FOLDER) -> str:
    """The same as a drawing; empty where nothing was measured."""
    return frontier_shown.drawing(frontier.parsed(_lines(folder, FRONTIER))) if there(FRONTIER, folder) else ""


def published_table(folder: Path) -> str:
    """What papers report, and ours beside it."""
    return table.markdown(published(), gathered(folder / name for name in FILES if there(name, folder)))


def players_table(name: str) -> Callable[[Path], str]:
    """What makes the players at the level of acts, all of them, and how near the learners come to the published row."""

    def text(folder: Path) -> str:
        found = published_results(_lines(folder, name))
        return f"{players.markdown(found)}\n\n{reproduction.markdown(found)}"

    return text


def anac_figure(folder: Path = FOLDER) -> str:
    """Negotiators of ANAC and ours as dots; empty where nothing was measured."""
    return anac_drawing(anac.found_in(_lines(folder, ANAC))) if there(ANAC, folder) else ""


def anac_table(part: Callable[[anac.Found], str]) -> Callable[[Path], str]:
    """One of the tables of the negotiators of ANAC."""
    return lambda folder: part(anac.found_in(_lines(folder, ANAC)))


def _lines(folder: Path, name: str) -> list[str]:
    return (folder / name).read_text(encoding="utf-8").splitlines()


FIELD: dict[str, tuple[str, Callable[[Path], str]]] = {
    "frontier": (FRONTIER, frontier_table),
    "published": (PUBLISHED, published_table),
    "players": (PUBLISHED, players_table(PUBLISHED)),
    "weaker_players": (WEAKER, players_table(WEAKER)),
    "anac_ours": (ANAC, anac_table(anac.ours_table)),
    "anac_ranking": (ANAC, anac_table(anac.ranking_table)),
    "anac_holding": (ANAC, anac_table(anac.holding_table)),
    "anac_years": (ANAC, anac_table(lambda found: f"{anac.years_table(found)}\n\n{anac.notes(found)}")),
}
