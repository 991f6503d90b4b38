"""Fuzzing of everything that is read: damaged input is refused with an InputError, or harmless.

The damaged ones are made by seed from valid examples, so the corpus needs no files of its own: bits flipped, pieces cut
off, left out, doubled or moved, and pieces put in that parsers stumble over.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import find_factory, parse_spec, seat_occupant
from dond_marl.records.files import read_lines, write_lines
from dond_marl.records.record import GameRecord, records_of, replay, to_line
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from league.settings.read import Config, load_config
from league.settings.training import TrainConfig
from partners.llm.reply import Legal, read_reply
from partners.network.checkpoint import load_checkpoint, network_note, save_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 1500  # characters of a line of a message
PIECES = (
    b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"-1", b"null", b"true", b"0.5", b'"', b"'", b"\\", b"\\ud800",
    b"[" * 3000, b"{" * 3000, b"]", b"}", b"(" * 300, b":", b",", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\n", b"\t",
    b"&a [*a]", b"*a",
    b"!!python/object/apply:os.system ['true']", b"<<: {a: 1}", b"__class__", b"- ", b"---\n", b"#", b"%", b"x" * 3000,
    b"env",
    b"1_000", b"0x10", b"2026-01-01", b"lambda: 0", b"**", b"=", b" " * 2000,
)  # fmt: skip
SHAPE = NetworkShape(max_turns=6, hidden=(8,))


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


def games() -> bytes:
    pair, rules = (seat_occupant("random"), seat_occupant("heuristic")), Rules()
    scenarios = open_source("lewis").draw(np.random.default_rng(1), 6)
    played = rollout(pair, scenarios, seed=1, rules=rules)
    return "".join(to_line(one) + "\n" for one in records_of(played, ("random", "heuristic"))).encode()


def read_games(path: Path) -> None:
    for game in read_lines(path):
        if isinstance(game, GameRecord):
            replay(game)
    write_lines(path.with_suffix(".out"), read_lines(path))


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
    "records": (lambda: [games()], read_games),
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


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_thousands_of_damaged_texts(name, tmp_path):
    attack(name, 2000, tmp_path, seed=2)


def attack_weights(tries: int, folder: Path, seed: int) -> int:
    """Damaged checkpoints are refused, or equal to the bit."""
    network, draw, refused = PolicyNetwork(SHAPE, seed=1), random.Random(seed), 0
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    about = {**network_note(network), "counters": {"updates": 3}, "taught_by": "nobody"}
    note = folder / "policy.json"
    save_checkpoint(note, tensors, about)
    files = {path: path.read_bytes() for path in (note, note.with_suffix(".safetensors"))}
    for number in range(tries):
        for path, content in files.items():
            path.write_bytes(content)
        path = draw.choice(list(files))
        content = damaged(files[path], draw)
        path.write_bytes(content)
        try:
            loaded = load_checkpoint(note)
            own = loaded.network().state_dict()
        except InputError as error:
            refused += 1
            assert max(map(len, str(error).splitlines())) <= LONGEST, str(error)[:3000]
            continue
        except Exception as error:
            raise AssertionError(f"number {number}: {path.name}: {content[:1000]!r}") from error
        assert loaded.about["taught_by"] == "nobody"
        assert all(torch.equal(value, own[name]) for name, value in network.state_dict().items())
    return refused


def test_damaged_weights_are_refused_or_equal(tmp_path):
    assert attack_weights(150, tmp_path, seed=1) > 100


@pytest.mark.slow
def test_thousands_of_damaged_weights(tmp_path):
    assert attack_weights(10_000, tmp_path, seed=2) > 8_000
