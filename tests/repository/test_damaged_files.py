"""Fuzzing of what a user writes: damaged settings, overrides and specs, and a model's replies, are refused or read.

The damaged ones are made by seed from valid examples, so the corpus needs no files of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dond_marl.errors import InputError
from dond_marl.occupants import find_factory, parse_spec
from league.settings.read import Config, load_config
from league.settings.training import TrainConfig
from partners.llm.reply import Legal, read_reply

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 1500  # characters of a line of a message
PIECES = (
    "", "NaN", "1e999", "9" * 5000, "-1", "null", "0.5", '"', "\\", "[" * 3000, "]", "}", ":", ",", "\0", "\u00ff",
    "\n", "\t", "*a", "- ", "#", "env", "1_000", "2026-01-01", "=", " " * 2000,
)  # fmt: skip


def damaged(text: str, draw: random.Random) -> str:
    """``text`` with one to three pieces left out, doubled, or replaced by something that parsers stumble over."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        start = draw.randrange(len(text) + 1)
        end = start + draw.choice((0, 1, 8, 400))
        text = text[:start] + draw.choice((*PIECES, 2 * text[start:end])) + text[end:]
    return text


def read_settings(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
    load_config(path, (), TrainConfig if "training:" in text else Config)


def read_spec(text: str, _path: Path) -> None:
    find_factory(text)
    assert parse_spec(parse_spec(text).text) == parse_spec(text)


READERS: dict[str, tuple[list[str], Callable[[str, Path], Any]]] = {
    "settings": ([path.read_text() for path in sorted((ROOT / "configs").glob("*.yaml"))], read_settings),
    "overrides": (
        ["league.seed=3", "members=[{kind: boulware, exponent: 2}, random]", "env.scenarios=lewis"],
        lambda text, _path: load_config(ROOT / "configs" / "league_quick.yaml", [text]),
    ),
    "specs": (["boulware(exponent=2)", "mixture(of=[heuristic, random], weights=[1, 2.5])"], read_spec),
    "replies": (
        ['{"act_type": 0, "oA": [1, 0, 1], "confidence": 0.5}', '```json\n{"act_type": 2, "oA": [0,0,0]}\n```'],
        lambda text, _path: read_reply(text, Legal((3, 1, 1), (0, 1, 2, 3, 4)), reading="lenient"),
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_damaged_text_is_refused_or_harmless(name, tmp_path):
    originals, read = READERS[name]
    draw = random.Random(name)
    for number in range(60):
        text = damaged(draw.choice(originals), draw)
        try:
            read(text, tmp_path / "damaged.yaml")
        except InputError as error:
            assert max(map(len, str(error).splitlines())) <= LONGEST, str(error)[:3000]
        except Exception as error:
            raise AssertionError(f"{name}, number {number}: {text[:2000]!r}") from error
