"""Fuzzing of everything that is read: damaged input is refused with an InputError, or harmless.

The damaged ones are made by seed from valid examples, so the corpus needs no files of its own: bits flipped, pieces cut
off, left out, doubled or moved, and pieces put in that parsers stumble over.
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
    b"NaN", b"1e999", b"9" * 5000, b"-1", b"null", b"0.5", b'"', b"\\", b"[" * 3000, b"]", b"}", b":", b",", b"\x00",
    b"\xff\xfe", b"\n", b"\t", b"*a", b"- ", b"#", b"env", b"1_000", b"2026-01-01", b"=", b" " * 2000,
)  # fmt: skip


def damaged(content: bytes, draw: random.Random) -> bytes:
    """``content`` with one to three things wrong with it."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        at = draw.randrange(len(content) + 1)
        end = min(len(content), at + draw.choice((1, 1, 2, 8, 40, 400)))
        piece = content[at:end]
        kind = draw.randrange(7)
        if kind == 0 and content and at < len(content):
            content = content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at]
        elif kind == 2:
            content = content[:at] + content[end:]
        elif kind == 3:
            content = content[:end] + piece * draw.choice((1, 2, 50)) + content[end:]
        elif kind == 4:
            to = draw.randrange(len(content) + 1)
            content = content[:to] + piece + content[to:]
        else:
            content = content[:at] + draw.choice(PIECES) + content[end if kind == 5 else at :]
    return content


def read_settings(path: Path) -> None:
    load_config(path, (), TrainConfig if b"training:" in path.read_bytes() else Config)


def read_override(path: Path) -> None:
    load_config(ROOT / "configs" / "league_quick.yaml", [path.read_bytes().decode(errors="surrogateescape")])


def read_spec(path: Path) -> None:
    spec = path.read_bytes().decode(errors="surrogateescape")
    find_factory(spec)
    assert parse_spec(parse_spec(spec).text) == parse_spec(spec)


def read_answer(path: Path) -> None:
    text = path.read_bytes().decode(errors="surrogateescape")
    for reading in ("strict", "lenient"):
        read_reply(text, Legal((3, 1, 1), (0, 1, 2, 3, 4)), reading=reading)


READERS: dict[str, tuple[Callable[[], list[bytes]], Callable[[Path], Any]]] = {
    "settings": (lambda: [path.read_bytes() for path in sorted((ROOT / "configs").glob("*.yaml"))], read_settings),
    "overrides": (
        lambda: [b"league.seed=3", b"members=[{kind: boulware, exponent: 2}, random]", b"env.scenarios=lewis"],
        read_override,
    ),
    "specs": (
        lambda: [
            b"boulware(exponent=2)",
            b"mixture(of=[heuristic, random], weights=[1, 2.5])",
            b"expert(greedy=False)",
        ],
        read_spec,
    ),
    "replies": (
        lambda: [
            b'{"act_type": 0, "oA": [1, 0, 1], "confidence": 0.5}',
            b'```json\n{"act_type": 2, "oA": [0,0,0]}\n```',
        ],
        read_answer,
    ),
}


def attack(name: str, tries: int, folder: Path, seed: int) -> int:
    """Pass so many damaged files to one reader and count refusals; an error that is no InputError fails."""
    examples, read = READERS[name]
    originals, draw, refused, path = examples(), random.Random(f"{name} {seed}"), 0, folder / "damaged"
    for original in originals:
        path.write_bytes(original)
    for number in range(tries):
        content = damaged(draw.choice(originals), draw)
        path.write_bytes(content)
        try:
            read(path)
        except InputError as error:
            refused += 1
            assert max(map(len, str(error).splitlines())) <= LONGEST, str(error)[:3000]
        except Exception as error:
            raise AssertionError(f"{name}, number {number}: {content[:2000]!r}") from error
    return refused


@pytest.mark.parametrize("name", READERS)
def test_damaged_text_is_refused_or_harmless(name, tmp_path):
    assert attack(name, 60, tmp_path, seed=1) > (0 if name == "replies" else 20) - (name == "replies")
