"""Results files of computed figures: a row a line of JSON, in which a newer row takes the place of an older one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError
from dond_marl.records.files import write_whole

Row = Mapping[str, Any]


def rows_in(path: Path, show: Callable[[Row], object], what: str) -> list[Row]:
    """The rows of a file, none where there is no file; ``show`` fails for a row that is damaged.

    Raises :class:`InputError`, which says that the file holds no ``what``.
    """
    if not path.is_file():
        return []
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for row in rows:
            show(row)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"{path} holds no {what} that can be read ({error!r}); name another file") from None
    return rows


def replace(path: Path, rows: list[Row], row: Row, same: Callable[[Row], tuple[Any, ...]]) -> None:
    """Write ``rows`` and ``row`` to the file, in the order of what says which are the ``same``, each once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = sorted([*(other for other in rows if same(other) != same(row)), row], key=lambda each: str(same(each)))
    write_whole(path, "".join(json.dumps(each, allow_nan=False) + "\n" for each in kept))
