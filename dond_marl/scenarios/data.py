"""The published data files of Lewis et al. 2017: download, SHA-256 check, and parsing from a local folder.

The files are the data of facebookresearch/end-to-end-negotiator (CC BY-NC 4.0) and are not part of this project.
``selfplay.txt`` holds one seat a line, ``count value`` for each item type; lines 2k and 2k+1 are one game. The dialogue
files hold one perspective a line: ``<input>``, ``<dialogue>``, ``<output>``, ``<partner_input>``.
A file is read if its SHA-256 is that of the published one, and not at all otherwise.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError, RunFailure, quote
from dond_marl.files import atomic_replace, read_bytes, user_path

DIALOGUE_SPLITS = ("train", "val", "test")
DEFAULT_DATA_DIR = Path("data")
BASE_URL = "https://raw.githubusercontent.com/facebookresearch/end-to-end-negotiator/master/src/data/negotiate/"
CHECKSUMS: dict[str, tuple[str, ...]] = {
    "selfplay.txt": ("05b7d66c309617f0f1a5562ab8c1d2de933e712a4c8419fd924f4a2c899ab3aa",),
    # The published file, then the same rows in another order (rebuilt from the published data.txt).
    "train.txt": (
        "aa278f06765463a5767055e1a544d922b39a9bb78f586f85513bf99f74aa2300",
        "d76b0fdd57436286d4c275c50e74182248cedf7d0db12aa39d99c687f7e17207",
    ),
    "val.txt": ("5ad7df00b8bc4b1fff565cb4dc38b23afc7874c496b0ed2e1c58c232326ff996",),
    "test.txt": ("37be3150bf656195b61a7547b45cf307acce929f2a8140036890a561c3597c83",),
}
Tables = tuple[NDArray[np.int8], NDArray[np.int8]]


class DataError(InputError):
    """A data file that is missing or is not the published one."""


class Dialogue(NamedTuple):
    """One perspective of one human negotiation: the speaker's own context, the words, the selection, the partner's."""

    counts: tuple[int, ...]
    my_values: tuple[int, ...]
    partner_values: tuple[int, ...]
    words: tuple[str, ...]  # "YOU:" and "THEM:" turns, "<eos>" and "<selection>" as published
    output: tuple[str, ...]  # "item0=1" and so on for both sides, or "<no_agreement>", "<disagree>", "<disconnect>"


def load_self_play(data_dir: str | Path | None = None) -> Tables:
    """The 4,086 self-play games of ``selfplay.txt``: counts ``[N, 3]`` and utilities ``[N, 2, 3]``, int8."""
    return _self_play(_find("selfplay.txt", data_dir))


def load_dialogue_scenarios(split: str, data_dir: str | Path | None = None) -> Tables:
    """The scenarios of one dialogue file, one per perspective: counts ``[N, 3]`` and utilities ``[N, 2, 3]``, int8."""
    rows = load_dialogues(split, data_dir)
    counts = np.array([row.counts for row in rows], dtype=np.int8)
    return counts, np.array([(row.my_values, row.partner_values) for row in rows], dtype=np.int8)


def load_dialogues(split: str, data_dir: str | Path | None = None) -> tuple[Dialogue, ...]:
    """Every line of ``train.txt``, ``val.txt`` or ``test.txt``."""
    if split not in DIALOGUE_SPLITS:
        raise DataError(f"split of the dialogues must be one of {', '.join(DIALOGUE_SPLITS)}; got {quote(split)}")
    return _dialogues(_find(f"{split}.txt", data_dir))


def checksum(content: bytes) -> str:
    """The SHA-256 of a data file, in hexadecimal, whether its lines end in LF, as published, or in CRLF."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n").removesuffix(b"\n") + b"\n").hexdigest()


def how_to_get(name: str, folder: Path) -> str:
    """Instructions for a missing or wrong data file."""
    return (
        f"Fetch it with `dond data fetch --data-dir {folder}`, "
        f"or download {BASE_URL}{name} and place it at {folder / name}; "
        f"another folder is named by data_dir (env.data_dir in a config)."
    )


def _find(name: str, data_dir: str | Path | None) -> Path:
    folder = DEFAULT_DATA_DIR if data_dir is None else user_path(data_dir)
    path = folder / name
    if folder.is_file():
        raise DataError(f"{folder}: a file; data_dir names the folder that holds {name}")
    if not path.is_file():
        raise DataError(f"{path}: no such data file. {how_to_get(name, folder)}")
    return path.absolute()  # not resolved: a link keeps the name by which its checksum is known


@lru_cache(maxsize=4)
def _self_play(path: Path) -> Tables:
    numbers = np.array([line.split() for line in _verified_lines(path)], dtype=np.int8)
    games = numbers.reshape(-1, 2, 3, 2)  # by game, seat and item type: count and value
    tables = games[:, 0, :, 0].copy(), games[..., 1].copy()
    for table in tables:
        table.flags.writeable = False
    return tables


@lru_cache(maxsize=4)
def _dialogues(path: Path) -> tuple[Dialogue, ...]:
    return tuple(map(_dialogue_line, _verified_lines(path)))


def _verified_lines(path: Path) -> list[str]:
    """The lines of a published file. Raises :class:`DataError` for another content: every line is then as published."""
    try:
        content = read_bytes(path, MAX_BYTES)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). {how_to_get(path.name, path.parent)}") from error
    digest, checksums = checksum(content), CHECKSUMS[path.name]
    if digest not in checksums:
        raise DataError(
            f"{path}: not the published file: its SHA-256 is {digest}, expected {' or '.join(checksums)}. "
            f"{how_to_get(path.name, path.parent)}"
        )
    return content.decode().removesuffix("\n").split("\n")


def _dialogue_line(line: str) -> Dialogue:
    words = line.split()
    parts = {tag: _section(words, tag) for tag in ("input", "dialogue", "output", "partner_input")}
    counts, my_values, partner_values = (
        tuple(map(int, numbers))
        for numbers in (parts["input"][::2], parts["input"][1::2], parts["partner_input"][1::2])
    )
    return Dialogue(counts, my_values, partner_values, tuple(parts["dialogue"]), tuple(parts["output"]))


def _section(words: list[str], tag: str) -> list[str]:
    start = words.index(f"<{tag}>")
    return words[start + 1 : words.index(f"</{tag}>", start)]


TIMEOUT = 30  # seconds without a byte
MAX_BYTES = 64 * 2**20  # the largest published file has 4.3 MB


class FetchError(RunFailure):
    """A file that could not be downloaded or written. The message says how to place the files by hand."""


def fetch(folder: str | Path, base_url: str = BASE_URL, report: Callable[[str], object] = print) -> None:
    """Download every published file that ``folder`` lacks or has wrong. Raises :class:`FetchError`.

    A file gets its name only when it is complete and verified. ``report``: called with a line of progress.
    """
    folder = user_path(folder)
    base_url = base_url.rstrip("/") + "/"
    missing = list(CHECKSUMS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in CHECKSUMS:
            _fetch_file(folder / name, base_url, report)
            missing.remove(name)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise FetchError(f"{_reason(error, folder)}\n{_by_hand(folder, missing)}") from error


def _fetch_file(target: Path, base_url: str, report: Callable[[str], object]) -> None:
    if target.is_file():
        if checksum(read_bytes(target, MAX_BYTES)) in CHECKSUMS[target.name]:
            report(f"{target}: there already, verified")
            return
        report(f"{target}: not the published file; it will be replaced")
    url = base_url + target.name
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url}: not an http or https address")
    report(f"{url}: downloading")
    content = _download(url)
    if (digest := checksum(content)) not in CHECKSUMS[target.name]:
        checksums = " or ".join(CHECKSUMS[target.name])
        raise ValueError(
            f"{url}: not the published file: {len(content):,} bytes of SHA-256 {digest}, expected {checksums}"
        )
    with atomic_replace(target) as part:
        part.write_bytes(content)
    report(f"{target}: {len(content):,} bytes, verified")


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:  # noqa: S310  # http and https only, checked
            content: bytes = answer.read(MAX_BYTES)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise ConnectionError(f"{url}: cannot be fetched ({error})") from error
    return content


def _reason(error: Exception, folder: Path) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or folder}: {error.strerror}"
    return str(error)


def _by_hand(folder: Path, missing: list[str]) -> str:
    lines = [f"To place the files by hand, download and put into {folder} (any folder that data_dir names):"]
    lines += [f"  {BASE_URL}{name}\n    SHA-256 {CHECKSUMS[name][0]}" for name in missing]
    return "\n".join([*lines, "Then run this command again: it verifies what is there."])
