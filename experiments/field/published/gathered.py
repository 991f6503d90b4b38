"""The results files that stand beside published figures, as one list: a column for each title."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError
from experiments.field.published.results import MEASURES, Found, Row, parsed

LIKELIHOOD, IN_WORDS = (
    "likelihood",
    "itself, in words",
)  # as an entry of cells.yaml is called; as dond experiment words calls it
TITLE_OF_WORDS = "ours, in words"
FILES = ("published.jsonl", "published_weaker.jsonl", "self_taught.jsonl", "nash_products.jsonl", "words.jsonl")


def gathered(paths: Iterable[Path]) -> list[Found]:
    """The results in files of ``dond experiment`` published, self-taught, nash-products and words, in their order.

    Those of one title are one column. Raises :class:`InputError` for other files.
    """
    columns: dict[str, Found] = {}
    for path in paths:
        found = _read(path.read_text(encoding="utf-8").splitlines())
        title = str(found.settings.get("title", "ours"))
        before = columns.get(title, Found({}, []))
        columns[title] = Found(before.settings or found.settings, [*before.rows, *found.rows])
    return list(columns.values())


def _read(lines: Sequence[str]) -> Found:
    try:
        rows = [json.loads(line) for line in lines]
        if any(row.get("against") == IN_WORDS for row in rows):
            return _of_words(rows)
    except (ValueError, AttributeError) as error:
        raise InputError(
            f"no results to stand beside published figures ({error}); see `published-table --help`"
        ) from None
    return parsed(lines)


def _of_words(rows: Sequence[dict[str, Any]]) -> Found:
    """Models of words with themselves: the likelihood model of the paper at its own level."""
    met = [row for row in rows if row.get("against") == IN_WORDS]
    return Found(
        {"title": TITLE_OF_WORDS}, [Row(LIKELIHOOD, row["seed"], row["games"], _means(row), []) for row in met]
    )


def _means(row: dict[str, Any]) -> dict[str, float]:
    return {measure: row[measure]["mean"] for measure in MEASURES if measure in row}
