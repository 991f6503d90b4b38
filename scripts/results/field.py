"""The tables and the figure of docs/FIELD.md: this game as others play it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from league.experiments.field import bargaining, kaggle
from league.experiments.field.anac import findings as anac
from league.experiments.field.anac.picture import drawing as anac_drawing
from league.experiments.field.frontier import experiment as frontier
from league.experiments.field.frontier import shown as frontier_shown
from league.experiments.field.published import nash_products, players, reproduction, table, without_people
from league.experiments.field.published.cells import published
from league.experiments.field.published.gathered import FILES, gathered
from league.experiments.field.published.results import parsed as published_results
from league.experiments.field.words import experiment as words
from league.experiments.field.words import shown as words_shown
from scripts.results.files import FOLDER, ROOT, there

FRONTIER, WORDS, KAGGLE = "frontier.jsonl", "words.jsonl", "kaggle.jsonl"
PUBLISHED, WEAKER, BARGAINING = "published.jsonl", "published_weaker.jsonl", "bargaining.jsonl"
ANAC = "anac.jsonl"
SELF_TAUGHT, NASH_PRODUCTS = "self_taught.jsonl", "nash_products.jsonl"
DRAWN, DRAWN_ANAC = ROOT / "docs" / "frontier.svg", ROOT / "docs" / "anac.svg"


def frontier_table(folder: Path) -> str:
    """Large models and ours under talk, then secret proposals."""
    rows = frontier.parsed(_lines(folder, FRONTIER))
    return f"{frontier_shown.markdown(rows)}\n{frontier_shown.how(rows)}"


def frontier_figure(folder: Path = FOLDER) -> str:
    """The same as a drawing; empty where nothing was measured."""
    return frontier_shown.drawing(frontier.parsed(_lines(folder, FRONTIER))) if there(FRONTIER, folder) else ""


def words_table(folder: Path) -> str:
    """The model of words: how it foresees people, and what it gets."""
    return f"{words_shown.markdown(words.parsed(_lines(folder, WORDS)))}\n{words_shown.HOW}\n\n{words_shown.PAPER}"


def kaggle_table(folder: Path) -> str:
    """Pairs in Kaggle's arena."""
    pairs = kaggle.parsed(_lines(folder, KAGGLE))
    note = (
        f"Each pair on {pairs[0].points.n} tables, two games on each with seats exchanged; 95 % intervals over tables."
    )
    return f"{kaggle.markdown(pairs)}\n{note}"


def published_table(folder: Path) -> str:
    """What papers report, and ours beside it."""
    return table.markdown(published(), gathered(folder / name for name in FILES if there(name, folder)))


def players_table(name: str) -> Callable[[Path], str]:
    """What makes the players at the level of acts, all of them, and how near the learners come to the published row."""

    def text(folder: Path) -> str:
        found = published_results(_lines(folder, name))
        return f"{players.markdown(found)}\n\n{reproduction.markdown(found)}"

    return text


def without_people_table(folder: Path) -> str:
    """Who learned without people, against their clone."""
    return without_people.markdown(published_results(_lines(folder, SELF_TAUGHT)))


def nash_products_table(folder: Path) -> str:
    """What OpenSpiel's example prints."""
    return nash_products.markdown(published_results(_lines(folder, NASH_PRODUCTS)))


def bargaining_table(folder: Path) -> str:
    """OpenSpiel's players and ours."""
    return bargaining.markdown((folder / BARGAINING).read_text(encoding="utf-8"))


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
    "words": (WORDS, words_table),
    "kaggle": (KAGGLE, kaggle_table),
    "published": (PUBLISHED, published_table),
    "players": (PUBLISHED, players_table(PUBLISHED)),
    "weaker_players": (WEAKER, players_table(WEAKER)),
    "bargaining": (BARGAINING, bargaining_table),
    "self_taught": (SELF_TAUGHT, without_people_table),
    "nash_products": (NASH_PRODUCTS, nash_products_table),
    "anac_ours": (ANAC, anac_table(anac.ours_table)),
    "anac_ranking": (ANAC, anac_table(anac.ranking_table)),
    "anac_holding": (ANAC, anac_table(anac.holding_table)),
    "anac_years": (ANAC, anac_table(lambda found: f"{anac.years_table(found)}\n\n{anac.notes(found)}")),
}
