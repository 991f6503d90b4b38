"""Downloading the published data files: verified by SHA-256 before a file gets its name."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from dond_marl.errors import RunFailure
from dond_marl.scenarios.data import BASE_URL, CHECKSUMS

TIMEOUT = 30  # seconds without a byte
MAX_BYTES = 64 * 2**20  # the largest published file has 4.3 MB
CHUNK = 2**18  # bytes


class FetchError(RunFailure):
    """A file that could not be downloaded or written. The message says how to place the files by hand."""


def fetch(folder: str | Path, base_url: str = BASE_URL, say: Callable[[str], object] = print) -> None:
    """Bring every published file that ``folder`` lacks, replacing wrong ones. Raises :class:`FetchError`.

    A file that is there under its name is whole and verified, whatever stops the download.
    """
    folder = Path(folder).expanduser()
    base_url = base_url.rstrip("/") + "/"
    missing = list(CHECKSUMS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in CHECKSUMS:
            _bring(folder / name, base_url, say)
            missing.remove(name)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise FetchError(f"{_reason(error, folder)}\n{_by_hand(folder, missing)}") from error


def _bring(target: Path, base_url: str, say: Callable[[str], object]) -> None:
    if target.is_file():
        with target.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() in CHECKSUMS[target.name]:
                say(f"{target}: there already, verified")
                return
        say(f"{target}: not the published file; it will be replaced")
    url = base_url + target.name
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url}: not an http or https address")
    say(f"{url}: downloading")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            size, digest = _download(url, file)
            file.flush()
            os.fsync(file.fileno())
        if digest not in CHECKSUMS[target.name]:
            known = " or ".join(CHECKSUMS[target.name])
            raise ValueError(f"{url}: not the published file: {size:,} bytes of SHA-256 {digest}, expected {known}")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    say(f"{target}: {size:,} bytes, verified")


def _download(url: str, file: BinaryIO) -> tuple[int, str]:
    """Write what is at ``url`` into ``file``; its size in bytes and SHA-256."""
    digest, size = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:  # noqa: S310  # http and https only, checked
            while chunk := answer.read(CHUNK):
                size += len(chunk)
                if size > MAX_BYTES:
                    raise ValueError(f"{url}: more than {MAX_BYTES:,} bytes, so not the published file")
                digest.update(chunk)
                file.write(chunk)
    except urllib.error.HTTPError as error:
        error.close()
        raise ConnectionError(f"{url}: the server says {error.code} {error.reason}") from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise ConnectionError(f"{url}: cannot be reached ({reason})") from error
    return size, digest.hexdigest()


def _reason(error: Exception, folder: Path) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or folder}: {error.strerror}"
    return str(error)


def _by_hand(folder: Path, missing: list[str]) -> str:
    lines = [f"To place the files by hand, download and put into {folder} (any folder that data_dir names):"]
    lines += [f"  {BASE_URL}{name}\n    SHA-256 {CHECKSUMS[name][0]}" for name in missing]
    return "\n".join([*lines, "Then run this command again: it verifies what is there."])
